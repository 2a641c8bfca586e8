// SPDX-License-Identifier: Apache-2.0
// The laws of a loss scaling, over random policies and sequences.
#include <catch.hpp>
#include <cmath>
#include <halfstep/loss_scaling/dynamic_scaling.hpp>
#include <halfstep/loss_scaling/hysteresis_scaling.hpp>
#include <random>
#include <scaling/drive.hpp>

namespace hs = halfstep;

namespace {

/// A valid policy, its numbers drawn over all that is allowed.
template <class Scaling>
Scaling random_policy(std::mt19937& random) {
    const auto between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    Scaling p;
    const double floor = between(-127, 20), ceiling = between(floor, 127.9);
    p.floor = random() % 4 == 0 ? 0x1p-127f : static_cast<float>(std::exp2(floor));
    p.ceiling =
        random() % 4 == 0 ? std::numeric_limits<float>::max() : static_cast<float>(std::exp2(ceiling)) + p.floor;
    p.initial_scale = static_cast<float>(std::exp2(between(std::log2(p.floor), std::log2(p.ceiling))));
    p.initial_scale = std::min(std::max(p.initial_scale, p.floor), p.ceiling);
    p.growth_factor = static_cast<float>(1 + std::exp2(between(-20, 60)));
    p.backoff_factor = static_cast<float>(between(1e-6, 0.999));
    p.growth_interval = 1 + static_cast<int>(random() % 5);
    if constexpr (requires { p.hysteresis; }) p.hysteresis = 1 + static_cast<int>(random() % 4);
    p.validate();
    return p;
}

template <class Scaling>
void check_laws() {
    std::mt19937 random(7);
    for (int run = 0; run < 300; ++run) {
        const auto policy = random_policy<Scaling>(random);
        auto state = hs::initial_state(policy);
        const auto overflows_of_16 = random() % 16;
        for (int step = 0; step < 400; ++step) {
            const float before = policy.scale(state);
            const bool overflow = random() % 16 < overflows_of_16;
            policy.update(state, drive::report_of(overflow ? 'X' : '.', before));
            const float after = policy.scale(state);
            const bool lawful = after >= policy.floor && after <= policy.ceiling && after > 0 &&
                                std::isfinite(1 / after) && (overflow ? after <= before : after >= before);
            if (!lawful) FAIL("run " << run << ", step " << step << ": scale " << before << " to " << after);
        }
        SUCCEED();
    }
}

}  // namespace

TEST_CASE("Whatever happens, dynamic_scaling's scale has a finite reciprocal and moves the right way") {
    check_laws<hs::dynamic_scaling>();
}

TEST_CASE("Whatever happens, hysteresis_scaling's scale has a finite reciprocal and moves the right way") {
    check_laws<hs::hysteresis_scaling<hs::refill::on_growth, hs::growth_count::clean_steps>>();
    check_laws<hs::hysteresis_scaling<hs::refill::on_growth, hs::growth_count::deepspeed>>();
    check_laws<hs::hysteresis_scaling<hs::refill::on_clean_step, hs::growth_count::clean_steps>>();
    check_laws<hs::hysteresis_scaling<hs::refill::on_clean_step, hs::growth_count::deepspeed>>();
}

TEST_CASE("A hysteresis of n skips n - 1 overflows without a cut, never more") {
    std::mt19937 random(11);
    for (int run = 0; run < 200; ++run) {
        auto policy = random_policy<hs::hysteresis_scaling<>>(random);
        policy.floor = 0x1p-127f;
        policy.initial_scale = std::max(policy.initial_scale, 1.0f);
        policy.ceiling = std::numeric_limits<float>::max();
        auto state = hs::initial_state(policy);
        for (int i = 1; i < policy.hysteresis; ++i) {
            policy.update(state, drive::report_of('X', policy.scale(state)));
            REQUIRE(policy.scale(state) == policy.initial_scale);
        }
        policy.update(state, drive::report_of('X', policy.scale(state)));
        REQUIRE(policy.scale(state) < policy.initial_scale);
    }
}
