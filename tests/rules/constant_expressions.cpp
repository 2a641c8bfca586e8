// SPDX-License-Identifier: Apache-2.0
// Rules run in constant expressions, on numbers small enough to work out by hand, and give there the bits that they
// give at run time.
#include <array>
#include <catch.hpp>
#include <cstdint>
#include <halfstep/halfstep.hpp>

namespace hs = halfstep;

namespace {

/// Parameter and moments of one element.
template <class Rule>
struct element {
    float parameter;
    hs::values<float, Rule::moments> moment{};
};

template <class Rule>
constexpr element<Rule> after(Rule const& rule, float parameter, std::array<float, 2> gradients, float lr) {
    element<Rule> x{parameter};
    std::int64_t t = 0;
    for (float g : gradients) rule.update(rule.prepare({lr, 1, ++t}), x.parameter, g, x.moment);
    return x;
}

/// Forty steps whose roundings are not trivial.
template <class Rule>
constexpr float long_way(Rule const& rule, float parameter, float lr) {
    element<Rule> x{parameter};
    for (int t = 1; t <= 40; ++t) {
        const float g = static_cast<float>(t * 37 % 11 - 5) * 0.3f / static_cast<float>(t);
        rule.update(rule.prepare({lr, 0.7f, t}), x.parameter, g, x.moment);
    }
    return x.parameter;
}
/// True when the compiler and the machine agree on every bit.
template <auto Rule>
bool same_at_run_time() {
    constexpr float compiled = long_way(Rule, 1.1f, 0.01f);
    volatile float parameter = 1.1f, lr = 0.01f;
    return hs::bits_of(long_way(Rule, parameter, lr)) == hs::bits_of(compiled);
}

}  // namespace

TEST_CASE("sgd by hand") {
    STATIC_REQUIRE(after(hs::sgd<>{}, 1, {1, 2}, 0.5f).parameter == 1 - 0.5f - 1);
    // 1 - 0.5 (2 + 0.5 * 1) = -0.25; -0.25 - 0.5 (1 - 0.5 * 0.25) = -0.6875
    STATIC_REQUIRE(after(hs::sgd<>{.weight_decay = 0.5f}, 1, {2, 1}, 0.5f).parameter == -0.6875f);
}

TEST_CASE("sgd with momentum by hand") {
    constexpr auto x = after(hs::sgd<hs::classical_momentum>{.momentum = 0.5f, .dampening = 0.25f}, 1, {1, 2}, 0.5f);
    STATIC_REQUIRE(x.moment[0] == 0.5f * 1 + 0.75f * 2);  // the first gradient counts in full
    STATIC_REQUIRE(x.parameter == 1 - 0.5f - 0.5f * 2);
    constexpr auto ahead = after(hs::sgd<hs::nesterov>{.momentum = 0.5f}, 1, {1, 2}, 0.5f);
    STATIC_REQUIRE(ahead.moment[0] == 2.5f);
    STATIC_REQUIRE(ahead.parameter == 1 - 0.5f * 1.5f - 0.5f * (2 + 0.5f * 2.5f));
}

TEST_CASE("adamw and adam by hand") {
    constexpr hs::adamw adamw{.beta1 = 0.5f, .beta2 = 0.75f, .eps = 1, .weight_decay = 0.5f};
    constexpr auto x = after(adamw, 1, {1, 1}, 0.5f);
    STATIC_REQUIRE(x.moment[0] == 0.75f);
    STATIC_REQUIRE(x.moment[1] == 0.4375f);
    // Both corrected moments are 1, so a step is lr / (1 + eps) after a decay of lr / 2.
    STATIC_REQUIRE(hs::abs(x.parameter - ((1 * 0.75f - 0.25f) * 0.75f - 0.25f)) <= 0x1p-25f);
    constexpr auto first = [](auto const& rule, float gradient) {
        element<hs::adam> one{1};
        rule.update(rule.prepare({0.5f, 1, 1}), one.parameter, gradient, one.moment);
        return one;
    };
    STATIC_REQUIRE(first(adamw, 1).parameter == 0.5f);
    // In adam the decay is part of the gradient: 0.5 + 0.5 * 1 is 1, too, and there is no other decay.
    constexpr hs::adam adam{.beta1 = 0.5f, .beta2 = 0.75f, .eps = 1, .weight_decay = 0.5f};
    STATIC_REQUIRE(first(adam, 0.5f).moment[0] == 0.5f);
    STATIC_REQUIRE(first(adam, 0.5f).moment[1] == 0.25f);
    STATIC_REQUIRE(first(adam, 0.5f).parameter == 0.75f);
}

TEST_CASE("adagrad by hand") {
    constexpr auto x = after(hs::adagrad{.lr_decay = 1, .eps = 1}, 1, {3, 4}, 0.5f);
    STATIC_REQUIRE(x.moment[0] == 9 + 16);
    // The root of the sum divides the gradient that it has taken in; the second step has half of the learning rate.
    STATIC_REQUIRE(hs::abs(x.parameter - (1 - 0.5f * 3 / (3 + 1) - 0.25f * 4 / (5 + 1))) <= 0x1p-25f);
    // The decay is part of the gradient: 2 + 0.5 * 2 is 3, and 3 / (3 + 1) is what is moved by.
    constexpr auto decayed = [] {
        constexpr hs::adagrad rule{.weight_decay = 0.5f, .eps = 1};
        element<hs::adagrad> one{2};
        rule.update(rule.prepare({0.5f, 1, 1}), one.parameter, 2.0f, one.moment);
        return one;
    }();
    STATIC_REQUIRE(decayed.moment[0] == 9);
    STATIC_REQUIRE(decayed.parameter == 2 - 0.5f * 0.75f);
}

TEST_CASE("lion by hand") {
    constexpr auto x = after(hs::lion{.beta1 = 0.5f, .beta2 = 0.75f, .weight_decay = 0.5f}, 1, {1, -1}, 0.5f);
    STATIC_REQUIRE(x.moment[0] == 0.75f * 0.25f - 0.25f);
    // The first direction is +; the second, 0.5 * 0.25 - 0.5, is -.
    STATIC_REQUIRE(x.parameter == (0.75f - 0.5f) * 0.75f + 0.5f);
}

TEST_CASE("The compiler computes a rule as the machine does") {
    CHECK(same_at_run_time<hs::adamw{}>());
    CHECK(same_at_run_time<hs::adam{.weight_decay = 0.1f}>());
    CHECK(same_at_run_time<hs::adagrad{.lr_decay = 0.1f, .weight_decay = 0.1f}>());
    CHECK(same_at_run_time<hs::lion{.weight_decay = 0.1f}>());
    CHECK(same_at_run_time<hs::sgd<>{.weight_decay = 0.1f}>());
    CHECK(same_at_run_time<hs::sgd<hs::classical_momentum>{.dampening = 0.3f, .weight_decay = 0.1f}>());
    CHECK(same_at_run_time<hs::sgd<hs::nesterov>{.weight_decay = 0.1f}>());
}
