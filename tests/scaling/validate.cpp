// SPDX-License-Identifier: Apache-2.0
// Every sentence with which a scaling refuses its numbers, said at run time by the step's constructor.
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <stdexcept>
#include <string>

namespace hs = halfstep;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// What the constructor says of `scaling`; empty when it takes it.
template <class Scaling>
std::string refusal(Scaling const& scaling) {
    try {
        hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::sgd<>{}, Scaling{}>{}, scaling};
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return {};
}

/// The scaling with one member changed.
template <class Scaling, class T>
std::string refusal_of(T Scaling::*member, T value) {
    Scaling scaling;
    scaling.*member = value;
    return refusal(scaling);
}

/// The rules that dynamic and hysteresis scaling share.
template <class Scaling>
void check_shared_rules(std::string const& name) {
    const std::string prefix = "halfstep: " + name + ".";
    for (float bad : {0.0f, -1.0f, inf, not_a_number})
        CHECK(refusal_of(&Scaling::initial_scale, bad) == prefix + "initial_scale must be positive and finite");
    for (float bad : {1.0f, 0.5f, -2.0f, inf, not_a_number})
        CHECK(refusal_of(&Scaling::growth_factor, bad) == prefix + "growth_factor must be greater than 1 and finite");
    for (float bad : {0.0f, 1.0f, -0.5f, 2.0f, inf, not_a_number})
        CHECK(refusal_of(&Scaling::backoff_factor, bad) == prefix + "backoff_factor must lie between 0 and 1");
    for (int bad : {0, -1})
        CHECK(refusal_of(&Scaling::growth_interval, bad) == prefix + "growth_interval must be at least 1");
    for (float bad : {0.0f, -1.0f, 0x1p-128f, not_a_number})
        CHECK(refusal_of(&Scaling::floor, bad) == prefix + "floor must be at least 2^-127");
    for (float bad : {0x1p-127f, -1.0f, inf, not_a_number}) {
        Scaling scaling;
        scaling.floor = 0.5f;
        scaling.ceiling = bad;
        CHECK(refusal(scaling) == prefix + "ceiling must be finite and not below the floor");
    }
    CHECK(refusal_of(&Scaling::floor, 0x1p17f) == prefix + "initial_scale must lie in [floor, ceiling]");
    CHECK(refusal_of(&Scaling::ceiling, 0x1p15f) == prefix + "initial_scale must lie in [floor, ceiling]");
}

/// The outermost values that are taken.
template <class Scaling>
void check_shared_limits() {
    Scaling scaling;
    scaling.growth_factor = std::nextafter(1.0f, 2.0f);
    scaling.backoff_factor = std::nextafter(1.0f, 0.0f);
    scaling.growth_interval = 1;
    scaling.floor = scaling.initial_scale = 0x1p-127f;
    CHECK(refusal(scaling).empty());
    scaling.floor = scaling.initial_scale = scaling.ceiling = std::numeric_limits<float>::max();
    scaling.backoff_factor = std::numeric_limits<float>::denorm_min();
    CHECK(refusal(scaling).empty());
}

}  // namespace

TEST_CASE("dynamic_scaling refuses numbers that cannot scale") {
    check_shared_rules<hs::dynamic_scaling>("dynamic_scaling");
    check_shared_limits<hs::dynamic_scaling>();
}

TEST_CASE("hysteresis_scaling refuses numbers that cannot scale") {
    check_shared_rules<hs::hysteresis_scaling<>>("hysteresis_scaling");
    check_shared_limits<hs::hysteresis_scaling<>>();
    // DeepSpeed takes 0 or less, and then never backs off.
    for (int bad : {0, -1})
        CHECK(refusal_of(&hs::hysteresis_scaling<>::hysteresis, bad) ==
              "halfstep: hysteresis_scaling.hysteresis must be at least 1");
    CHECK(refusal_of(&hs::hysteresis_scaling<>::hysteresis, 1).empty());
}

TEST_CASE("static_scaling refuses a scale without a finite reciprocal") {
    for (float bad : {0.0f, -128.0f, 0x1p-128f, inf, not_a_number})
        CHECK(refusal_of(&hs::static_scaling::loss_scale, bad) ==
              "halfstep: static_scaling.loss_scale must be finite and at least 2^-127");
    CHECK(refusal_of(&hs::static_scaling::loss_scale, 0x1p-127f).empty());
    CHECK(refusal_of(&hs::static_scaling::loss_scale, std::numeric_limits<float>::max()).empty());
}
