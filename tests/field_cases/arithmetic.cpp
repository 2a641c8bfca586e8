// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cstddef>
#include <field_cases/saved_state.hpp>
#include <halfstep/halfstep.hpp>
#include <utility>
#include <vector>

namespace hs = halfstep;

namespace {

/// The parameters after three steps on gradients of zero; every byte of the moments must still be zero.
template <class Recipe>
std::vector<hs::fp16> after_zero_gradients(Recipe) {
    std::vector<hs::fp16> parameters{hs::fp16(1.0f), hs::fp16(-2.0f), hs::fp16(0.5f)}, zeros(3, hs::fp16(0.0f));
    hs::optimizer_step step{Recipe{}};
    step.bind(parameters, zeros);
    for (int i = 0; i < 3; ++i) CHECK(step.step(1e-3f).applied);
    for (auto const& entry : saved_state(step))
        if (entry.component == "moment") CHECK(entry.bytes == std::vector<std::byte>(3 * sizeof(float)));
    return parameters;
}

/// One step of a rule on one fp32 parameter.
template <class Rule>
float after_one_step(Rule const& rule, float parameter, float gradient, float lr) {
    std::array<float, 1> p{parameter}, g{gradient};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, Rule{}>{}, rule};
    step.bind(p, g);
    step.step(lr);
    return p[0];
}

}  // namespace

TEST_CASE("5.1 eps survives in half training") {
    const std::vector<hs::fp16> unmoved{hs::fp16::from_bits(0x3C00), hs::fp16::from_bits(0xC000),
                                        hs::fp16::from_bits(0x3800)};
    CHECK(after_zero_gradients(hs::recipe<hs::fp16{}, hs::adam{}>{}) == unmoved);
    CHECK(after_zero_gradients(hs::recipe<hs::fp16{}, hs::adam{}, hs::in_place{}>{}) == unmoved);
    CHECK(after_zero_gradients(hs::recipe<hs::fp16{}, hs::adagrad{}, hs::in_place{}>{}) == unmoved);
    CHECK(after_zero_gradients(hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0}, hs::kahan{}>{}) == unmoved);
}

TEST_CASE("5.5 Where eps goes in Adam") {
    const hs::adam adam{};
    const hs::adamw adamw{.weight_decay = 0};
    for (auto const& [gradient, update] : {std::pair{1e-6f, 9.900990e-4}, std::pair{1e-7f, 9.090909e-4}}) {
        // Half a unit in the seventh digit of the expected values, and fp32's own rounding.
        CHECK(-static_cast<double>(after_one_step(adam, 0, gradient, 1e-3f)) == Approx(update).epsilon(3e-7));
        CHECK(-static_cast<double>(after_one_step(adamw, 0, gradient, 1e-3f)) == Approx(update).epsilon(3e-7));
    }
}

TEST_CASE("5.6 Decoupled decay: order and coupling") {
    const auto about = [](double expected) { return Approx(expected).epsilon(0).margin(1.2e-7); };
    CHECK(after_one_step(hs::adamw{.weight_decay = 0.1f}, 1, 1, 0.1f) == about(0.89));
    CHECK(after_one_step(hs::lion{.beta1 = 0.9f, .weight_decay = 0.1f}, 1, -0.05f, 0.1f) == about(1.09));
}
