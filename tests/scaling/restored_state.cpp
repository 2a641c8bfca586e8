// SPDX-License-Identifier: Apache-2.0
// A state that was saved under other numbers of the same policy.
#include <catch.hpp>
#include <scaling/one_weight.hpp>

namespace hs = halfstep;

namespace {

/// The scale after each of four clean steps with an interval of 3, from the state after 6 clean steps with one of 10.
template <class Scaling>
std::vector<float> scales_after_lowering(Scaling scaling) {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, Scaling{}>;
    scaling.initial_scale = 64;
    scaling.growth_interval = 10;
    one_weight before(recipe{}, scaling);
    for (int i = 0; i < 6; ++i) before.step('.');
    scaling.growth_interval = 3;
    scaling.initial_scale = 1024;  // the state decides, not the first scale
    one_weight after(recipe{}, scaling);
    after.restore(before.saved());
    CHECK(after.optimizer().loss_scale() == 64);
    std::vector<float> result;
    for (int i = 0; i < 4; ++i) result.push_back(after.step('.').next_loss_scale);
    return result;
}

}  // namespace

// PyTorch compares for equality, and would not grow again before the next overflow.
TEST_CASE("An interval that is lowered below the count of clean steps lets the scale grow at once") {
    const std::vector<float> expected{128, 128, 128, 256};
    CHECK(scales_after_lowering(hs::dynamic_scaling{}) == expected);
    CHECK(scales_after_lowering(hs::hysteresis_scaling<hs::refill::on_growth>{}) == expected);
    CHECK(scales_after_lowering(hs::hysteresis_scaling<hs::refill::on_clean_step, hs::growth_count::deepspeed>{}) ==
          expected);
}

TEST_CASE("Spent hysteresis and the count of clean steps survive a restart") {
    constexpr hs::hysteresis_scaling<> scaling{.initial_scale = 64, .growth_interval = 4, .hysteresis = 3};
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, scaling>;
    one_weight before(recipe{});
    for (char kind : {'X', 'X', '.', '.', '.'}) before.step(kind);
    one_weight after(recipe{});
    after.restore(before.saved());
    SECTION("one more overflow cuts") { CHECK(after.step('X').next_loss_scale == 32); }
    SECTION("one more clean step grows and refills") {
        CHECK(after.step('.').next_loss_scale == 128);
        CHECK(after.step('X').next_loss_scale == 128);
        CHECK(after.step('X').next_loss_scale == 128);
        CHECK(after.step('X').next_loss_scale == 64);
    }
}

TEST_CASE("A scale that is a number of the recipe and not of the state is the new one after a restart") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 128}>;
    one_weight before(recipe{});
    before.step('.');
    one_weight after(recipe{}, hs::static_scaling{.loss_scale = 512});
    after.restore(before.saved());
    CHECK(after.optimizer().loss_scale() == 512);  // what the loss is multiplied by
    CHECK(after.step('.').loss_scale == 512);      // what the gradients are divided by
}
