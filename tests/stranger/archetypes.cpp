// SPDX-License-Identifier: Apache-2.0
// The archetype beside each concept is the smallest type that models it. If it composes and runs, the library asks for
// no more than the concept says.
#include <catch.hpp>
#include <stranger/fixture.hpp>

namespace hs = halfstep;

namespace {

/// One step of a recipe on bf16 parameters and gradients.
template <auto... Entries>
hs::step_record first_step_of(std::vector<hs::bf16>& parameters, std::vector<hs::bf16>& gradients) {
    hs::optimizer_step step{hs::recipe<Entries...>{}};
    step.bind(parameters, gradients);
    return step.step(0.25f);
}

}  // namespace

TEST_CASE("the archetype of a parameter group trains", "[stranger]") {
    std::vector<float> parameters(20, 1.0f), gradients(20, 2.0f);
    hs::optimizer_step step{hs::recipe<hs::archetype::parameter_group{}, hs::sgd<>{}>{}};
    step.bind<hs::archetype::parameter_group::tag>(parameters, gradients);
    step.step(0.25f);
    REQUIRE(parameters == std::vector<float>(20, 0.5f));
}

TEST_CASE("the archetypes of rule, clipping, storage and state update parameters", "[stranger]") {
    std::vector<hs::bf16> gradients(20, hs::bf16(2.0f));
    const std::vector<hs::bf16> expected(20, hs::bf16(0.5f));
    std::vector<hs::bf16> p(20, hs::bf16(1.0f));
    REQUIRE(first_step_of<hs::bf16{}, hs::archetype::elementwise_rule{}>(p, gradients).applied);
    REQUIRE(p == expected);
    p.assign(20, hs::bf16(1.0f));
    REQUIRE(first_step_of<hs::bf16{}, hs::sgd<>{}, hs::archetype::gradient_clipping{}>(p, gradients).applied);
    REQUIRE(p == expected);
    p.assign(20, hs::bf16(1.0f));
    REQUIRE(first_step_of<hs::bf16{}, hs::sgd<>{}, hs::archetype::storage_rule{}>(p, gradients).applied);
    REQUIRE(p == expected);
    p.assign(20, hs::bf16(1.0f));
    constexpr hs::sgd<hs::classical_momentum> momentum{};
    REQUIRE(first_step_of<hs::bf16{}, momentum, hs::archetype::state_rule{}>(p, gradients).applied);
    REQUIRE(p == expected);
}

TEST_CASE("the archetype of a loss scaling unscales", "[stranger]") {
    std::vector<hs::bf16> p(20, hs::bf16(1.0f)), gradients(20, hs::bf16(2048.0f));
    const auto record = first_step_of<hs::bf16{}, hs::sgd<>{}, hs::archetype::loss_scaling{}>(p, gradients);
    REQUIRE(record.loss_scale == 1024);
    REQUIRE(p == std::vector<hs::bf16>(20, hs::bf16(0.5f)));
}

TEST_CASE("the archetype of a detector hears of overflows in other groups alone", "[stranger]") {
    std::vector<hs::bf16> p(20, hs::bf16(1.0f)), gradients(20, hs::bf16(fixture::not_a_number));
    REQUIRE(first_step_of<hs::bf16{}, hs::sgd<>{}, hs::archetype::overflow_detection{}>(p, gradients).applied);
}

TEST_CASE("the archetypes of layout, telemetry and communicator make no difference", "[stranger]") {
    using plain = hs::recipe<hs::bf16{}, hs::adamw{}>;
    using dressed = hs::recipe<hs::bf16{}, hs::adamw{}, hs::archetype::sharding_layout{}, hs::archetype::telemetry{}>;
    const auto expected = fixture::bytes_after_steps<hs::bf16, hs::bf16>(fixture::not_a_number, plain{});
    REQUIRE((fixture::bytes_after_steps<hs::bf16, hs::bf16>(fixture::not_a_number, dressed{},
                                                            hs::archetype::communicator{}) == expected));
}

TEST_CASE("archetypes go together", "[stranger]") {
    std::vector<float> parameters(20, 1.0f), gradients(20, 2048.0f);
    hs::optimizer_step step{
        hs::recipe<hs::archetype::parameter_group{}, hs::archetype::elementwise_rule{}, hs::archetype::loss_scaling{},
                   hs::archetype::overflow_detection{}, hs::archetype::gradient_clipping{}, hs::archetype::state_rule{},
                   hs::archetype::sharding_layout{}, hs::archetype::telemetry{}>{},
        hs::archetype::communicator{}};
    step.bind<hs::archetype::parameter_group::tag>(parameters, gradients);
    REQUIRE(step.step(0.25f).applied);
    REQUIRE(parameters == std::vector<float>(20, 0.5f));
}
