// SPDX-License-Identifier: Apache-2.0
// A host step computes on packs of lanes what `update` computes on one float: the same bits, tails included.
#include <catch.hpp>
#include <cmath>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <random>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr std::size_t count = 1003;  // a tail for every pack width

std::vector<float> random_values(std::mt19937& random) {
    std::vector<float> result(count);
    for (float& x : result) {
        const double magnitude = std::pow(10.0, static_cast<double>(random() % 50) - 30);
        x = static_cast<float>(std::normal_distribution<double>(0, magnitude)(random));
        if (random() % 10 == 0) x = random() % 2 == 0 ? 0.0f : -0.0f;
    }
    return result;
}

/// Elements, parameters and moments together, whose bits differ after any of ten steps.
template <class Rule>
std::size_t differing(Rule const& rule) {
    std::mt19937 random(5);
    std::vector<float> parameter = random_values(random), gradient(count);
    std::vector<float> alone = parameter;
    std::vector<hs::values<float, Rule::moments>> moments(count);
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, Rule{}, hs::fp32_state<hs::subnormals::keep>{}>{}, rule};
    step.bind(parameter, gradient);
    std::size_t result = 0;
    for (int t = 1; t <= 10; ++t) {
        const std::vector<float> next = random_values(random);
        gradient.assign(next.begin(), next.end());
        REQUIRE(step.step(0.01f).applied);
        const auto coefficients = rule.prepare({0.01f, 1, t});
        for (std::size_t i = 0; i < count; ++i) {
            rule.update(coefficients, alone[i], gradient[i], moments[i]);
            if (hs::bits_of(alone[i]) != hs::bits_of(parameter[i])) ++result;
        }
        step.visit_state([&](hs::state_entry const& entry) {
            if constexpr (Rule::moments > 0) {
                if (entry.component != "moment") return;
                for (std::size_t i = 0; i < count; ++i)
                    if (std::memcmp(entry.bytes.data() + 4 * i, &moments[i][entry.number], 4) != 0) ++result;
            }
        });
    }
    return result;
}

}  // namespace

TEST_CASE("A step's lanes give the bits of a scalar update: adamw") { CHECK(differing(hs::adamw{}) == 0); }
TEST_CASE("A step's lanes give the bits of a scalar update: adam") {
    CHECK(differing(hs::adam{.weight_decay = 0.1f}) == 0);
}
TEST_CASE("A step's lanes give the bits of a scalar update: adagrad") {
    CHECK(differing(hs::adagrad{.lr_decay = 0.1f, .weight_decay = 0.1f}) == 0);
}
TEST_CASE("A step's lanes give the bits of a scalar update: lion") {
    CHECK(differing(hs::lion{.weight_decay = 0.1f}) == 0);
}
TEST_CASE("A step's lanes give the bits of a scalar update: sgd") {
    CHECK(differing(hs::sgd<>{.weight_decay = 0.1f}) == 0);
    CHECK(differing(hs::sgd<hs::classical_momentum>{.dampening = 0.2f, .weight_decay = 0.1f}) == 0);
    CHECK(differing(hs::sgd<hs::nesterov>{.weight_decay = 0.1f}) == 0);
}
