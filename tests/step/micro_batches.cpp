// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cmath>
#include <step/helpers.hpp>

TEST_CASE("sums over micro-batches are divided in the one factor that unscales and clips", "[step]") {
    std::vector<float> p{0, 0}, g{6, 8};
    using recipe = hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 2}, hs::norm_check{}>;
    hs::optimizer_step step{recipe{}};
    step.bind(p, g);
    // 1 / (2 · 3) is rounded once: dividing by 2 and by 3 one after another would round twice.
    const auto record = step.step({.lr = 1, .micro_batches = 3});
    const auto factor = static_cast<float>(1.0 / 6);
    REQUIRE(p == std::vector<float>{-6 * factor, -8 * factor});
    REQUIRE(record.gradient_norm == 10 * (1.0 / 6));
    REQUIRE(record.loss_scale == 2);
}

TEST_CASE("a clip of accumulated gradients is one of their mean", "[step]") {
    std::vector<float> p{0, 0}, g{12, 16};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, hs::clip_by_norm{.max_norm = 4}>{}};
    step.bind(p, g);
    REQUIRE(step.step({.lr = 1, .micro_batches = 4}).gradient_norm == 5);
    const auto factor = static_cast<float>(0.25 * (4 / (5 + 1e-6)));
    REQUIRE(p == std::vector<float>{-12 * factor, -16 * factor});
}

namespace {

using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{.initial_scale = 1024, .growth_interval = 2}>;

}  // namespace

TEST_CASE("an overflow in any micro-batch skips the step, and the scale moves only there", "[step]") {
    for (std::size_t bad = 0; bad < 3; ++bad) {
        INFO("micro-batch " << bad);
        auto p = values<hs::fp16>(50, 1), g = values<hs::fp16>(50, 2);
        const auto before = p;
        hs::optimizer_step step{recipe{}};
        step.bind(p, g);
        const auto state = state_of(step);
        for (std::size_t micro = 0; micro < 3; ++micro) {
            const auto good = g[49];
            if (micro == bad) g[49] = hs::fp16(inf);
            step.inspect_micro_batch();
            g[49] = good;
            REQUIRE(step.loss_scale() == 1024);
            REQUIRE(step.last().step == 0);
            REQUIRE((state_of(step) == state));
        }
        const auto record = step.step({.lr = 0.1f, .micro_batches = 3});
        REQUIRE_FALSE(record.applied);
        REQUIRE(record.step == 1);
        REQUIRE(record.skipped_steps == 1);
        REQUIRE(record.next_loss_scale == 512);  // backed off once
        REQUIRE(p == before);
        REQUIRE((state_of(step) == state));
        // The next step begins without a memory of it.
        REQUIRE(step.step(0.1f).applied);
        REQUIRE(p != before);
    }
}

TEST_CASE("inspecting clean micro-batches leaves no trace", "[step]") {
    auto p = values<hs::fp16>(50, 1), q = p;
    const auto g = values<hs::fp16>(50, 2);
    hs::optimizer_step inspected{recipe{}}, plain{recipe{}};
    inspected.bind(p, g);
    plain.bind(q, g);
    for (int s = 0; s < 3; ++s) {
        inspected.inspect_micro_batch();
        inspected.inspect_micro_batch();
        const auto a = inspected.step(0.1f), b = plain.step(0.1f);
        REQUIRE(a.applied);
        REQUIRE(a.next_loss_scale == b.next_loss_scale);
        REQUIRE(p == q);
        REQUIRE((state_of(inspected) == state_of(plain)));
    }
}

TEST_CASE("an overflow of one micro-batch in one of several groups is kept", "[step]") {
    struct left;
    struct right;
    using two = hs::recipe<hs::group<left, float>{}, hs::group<right, float>{}, hs::sgd<>{}>;
    std::vector<float> p{1}, q{1}, g{1}, h{nan_value};
    hs::optimizer_step step{two{}};
    step.bind<left>(p, g);
    step.bind<right>(q, h);
    step.inspect_micro_batch();
    h[0] = 1;
    REQUIRE_FALSE(step.step(0.1f).applied);
    REQUIRE(p[0] == 1);
}

TEST_CASE("fewer micro-batches than one are refused", "[step]") {
    std::vector<float> p{1}, g{1};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}};
    step.bind(p, g);
    for (int count : {0, -1}) {
        const auto message =
            message_of<std::invalid_argument>([&] { step.step({.lr = 0.1f, .micro_batches = count}); });
        REQUIRE(contains(message, "micro_batches"));
    }
    REQUIRE(p[0] == 1);
    REQUIRE(step.last().step == 0);
}
