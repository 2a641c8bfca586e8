// SPDX-License-Identifier: Apache-2.0
// Padding is a parameter, a gradient and moments of zero: every rule must leave it so, or it grows into the sums of a
// flat buffer.
#include <catch.hpp>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

/// Zero, after updates number 1 to 1000 of a rule, to the bit.
template <class Rule>
constexpr bool zero_stays_zero(Rule const& rule) {
    float parameter = 0;
    hs::values<float, Rule::moments> moments{};
    for (std::int64_t t : {1, 2, 3, 1000}) {
        rule.update(rule.prepare({0.1f, 1, t}), parameter, 0.0f, moments);
        if (hs::bits_of(parameter) != 0) return false;
        if constexpr (Rule::moments > 0)
            for (int k = 0; k < Rule::moments; ++k)
                if (hs::bits_of(moments[k]) != 0) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("A parameter, gradient and moments of zero stay zero under every rule") {
    STATIC_REQUIRE(zero_stays_zero(hs::adamw{}));
    STATIC_REQUIRE(zero_stays_zero(hs::adamw{.eps = 0x1p-126f, .weight_decay = 1}));
    STATIC_REQUIRE(zero_stays_zero(hs::adam{.weight_decay = 0.1f}));
    STATIC_REQUIRE(zero_stays_zero(hs::adagrad{.lr_decay = 1, .weight_decay = 1, .eps = 0x1p-126f}));
    STATIC_REQUIRE(zero_stays_zero(hs::lion{.weight_decay = 1}));
    STATIC_REQUIRE(zero_stays_zero(hs::sgd<>{.weight_decay = 1}));
    STATIC_REQUIRE(zero_stays_zero(hs::sgd<hs::classical_momentum>{.dampening = 0.5f, .weight_decay = 1}));
    STATIC_REQUIRE(zero_stays_zero(hs::sgd<hs::nesterov>{.weight_decay = 1}));
}

TEMPLATE_TEST_CASE("The smallest eps that a rule takes still guards a zero gradient on the machine", "", hs::adam,
                   hs::adagrad) {
    std::vector<float> parameter(40, 1.5f), gradient(40, 0.0f);
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, TestType{.eps = 0x1p-126f}>{}};
    step.bind(parameter, gradient);
    for (int i = 0; i < 3; ++i) step.step(0.1f);
    CHECK(parameter == std::vector<float>(40, 1.5f));
}
