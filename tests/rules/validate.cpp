// SPDX-License-Identifier: Apache-2.0
// Every sentence with which a rule or a group refuses its numbers, said at run time by the step's constructor.
#include <catch.hpp>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <stdexcept>
#include <string>

namespace hs = halfstep;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float largest_below_1 = 0x1.fffffep-1f;

struct weights;

/// What the constructor says of a rule with one member changed; empty when it takes it.
template <class Rule>
std::string refusal_of(float Rule::*member, float value) {
    Rule rule;
    rule.*member = value;
    try {
        hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, Rule{}>{}, rule};
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return {};
}

template <class Rule>
void check_weight_decay(std::string const& name) {
    for (float bad : {-0.01f, inf, not_a_number})
        CHECK(refusal_of(&Rule::weight_decay, bad) ==
              "halfstep: " + name + ".weight_decay must be finite and not negative");
    CHECK(refusal_of(&Rule::weight_decay, 0).empty());
}

template <class Rule>
void check_betas(std::string const& name) {
    for (float bad : {-0.1f, 1.0f, inf, not_a_number}) {
        CHECK(refusal_of(&Rule::beta1, bad) == "halfstep: " + name + ".beta1 must lie in [0, 1)");
        CHECK(refusal_of(&Rule::beta2, bad) == "halfstep: " + name + ".beta2 must lie in [0, 1)");
    }
    for (float good : {0.0f, largest_below_1}) {
        CHECK(refusal_of(&Rule::beta1, good).empty());
        CHECK(refusal_of(&Rule::beta2, good).empty());
    }
}

template <class Rule>
void check_eps(std::string const& name) {
    for (float bad : {0.0f, -1e-8f, 0x1p-127f, inf, not_a_number})
        CHECK(refusal_of(&Rule::eps, bad) ==
              "halfstep: " + name + ".eps must be finite and at least 2^-126; less vanishes");
    CHECK(refusal_of(&Rule::eps, 0x1p-126f).empty());
}

template <class Sgd>
void check_momentum() {
    for (float bad : {0.0f, 1.0f, -0.5f, inf, not_a_number})
        CHECK(refusal_of(&Sgd::momentum, bad) ==
              "halfstep: sgd.momentum must lie between 0 and 1; for none name sgd<>");
    for (float bad : {-0.1f, 1.0f, inf, not_a_number})
        CHECK(refusal_of(&Sgd::dampening, bad) == "halfstep: sgd.dampening must lie in [0, 1)");
    CHECK(refusal_of(&Sgd::momentum, largest_below_1).empty());
}

std::string refusal_of_factor(float hs::group<weights, float>::*member, float value) {
    hs::group<weights, float> group;
    group.*member = value;
    try {
        hs::optimizer_step step{hs::recipe<hs::group<weights, float>{}, hs::sgd<>{}>{}, group};
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("adamw refuses numbers outside of its range") {
    check_betas<hs::adamw>("adamw");
    check_eps<hs::adamw>("adamw");
    check_weight_decay<hs::adamw>("adamw");
}

TEST_CASE("adam refuses numbers outside of its range") {
    check_betas<hs::adam>("adam");
    check_eps<hs::adam>("adam");
    check_weight_decay<hs::adam>("adam");
}

TEST_CASE("adagrad refuses numbers outside of its range") {
    for (float bad : {-0.01f, inf, not_a_number})
        CHECK(refusal_of(&hs::adagrad::lr_decay, bad) == "halfstep: adagrad.lr_decay must be finite and not negative");
    CHECK(refusal_of(&hs::adagrad::lr_decay, 0).empty());
    check_weight_decay<hs::adagrad>("adagrad");
    check_eps<hs::adagrad>("adagrad");
}

TEST_CASE("lion refuses numbers outside of its range") {
    check_betas<hs::lion>("lion");
    check_weight_decay<hs::lion>("lion");
}

TEST_CASE("sgd refuses numbers outside of its range") {
    check_weight_decay<hs::sgd<>>("sgd");
    check_weight_decay<hs::sgd<hs::classical_momentum>>("sgd");
    check_momentum<hs::sgd<hs::classical_momentum>>();
    check_momentum<hs::sgd<hs::nesterov>>();
    CHECK(refusal_of(&hs::sgd<hs::classical_momentum>::dampening, largest_below_1).empty());
    CHECK(refusal_of(&hs::sgd<hs::nesterov>::dampening, 0.5f) == "halfstep: sgd<nesterov>.dampening must be 0");
}

TEST_CASE("A group refuses factors outside of their range") {
    using group = hs::group<weights, float>;
    for (float bad : {-1.0f, inf, not_a_number}) {
        CHECK(refusal_of_factor(&group::lr_factor, bad) == "halfstep: group.lr_factor must be finite and not negative");
        CHECK(refusal_of_factor(&group::weight_decay_factor, bad) ==
              "halfstep: group.weight_decay_factor must be finite and not negative");
    }
    CHECK(refusal_of_factor(&group::lr_factor, 0).empty());
}
