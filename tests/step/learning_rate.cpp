// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <step/helpers.hpp>

namespace {

using recipe = hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0.5f}, hs::dynamic_scaling{.growth_interval = 1}>;

}  // namespace

TEST_CASE("a learning rate that is negative or not finite is refused before anything happens", "[step]") {
    auto p = values<hs::fp16>(20, 1);
    const auto g = values<hs::fp16>(20, 2), before = p;
    hs::optimizer_step step{recipe{}};
    step.bind(p, g);
    const auto state = state_of(step);
    for (float lr : {-0.1f, -1e-45f, nan_value, inf, -inf}) {
        INFO(lr);
        const auto message = message_of<std::invalid_argument>([&] { step.step(lr); });
        REQUIRE(contains(message, "learning rate"));
        REQUIRE(p == before);
        REQUIRE((state_of(step) == state));
        REQUIRE(step.last().step == 0);
        REQUIRE(step.loss_scale() == 65536);
    }
    REQUIRE(step.step(0.1f).step == 1);
}

TEST_CASE("a learning rate of zero makes a step that moves moments and no parameters", "[step]") {
    auto p = values<hs::fp16>(20, 1);
    const auto g = values<hs::fp16>(20, 2), before = p;
    hs::optimizer_step step{recipe{}};
    step.bind(p, g);
    const auto state = state_of(step);
    REQUIRE(step.step(0.0f).applied_steps == 1);
    REQUIRE(p == before);
    REQUIRE((state_of(step) != state));
}

TEST_CASE("each step uses the learning rate that it is given", "[step]") {
    std::vector<float> p{0}, g{1};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}};
    step.bind(p, g);
    REQUIRE(step.step(0.5f).lr == 0.5f);
    REQUIRE(p[0] == -0.5f);
    REQUIRE(step.step({.lr = 0.25f}).lr == 0.25f);
    REQUIRE(p[0] == -0.75f);
}
