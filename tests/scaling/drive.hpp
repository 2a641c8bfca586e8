// SPDX-License-Identifier: Apache-2.0
/// Drives a loss scaling alone, also in constant expressions: 'X' is a step that overflowed, '.' a clean one.
#pragma once

#include <array>
#include <cstddef>
#include <halfstep/concepts/loss_scaling.hpp>
#include <type_traits>

namespace drive {

constexpr halfstep::gradient_report report_of(char step, float scale) {
    halfstep::gradient_report report;
    report.flagged = report.overflowed = step == 'X';
    report.loss_scale = scale;
    return report;
}

/// `read(state)` after each step of a sequence, from the policy's first state on.
template <halfstep::loss_scaling P, std::size_t N, class F>
constexpr auto along(P const& policy, char const (&steps)[N], F read) {
    typename P::state state = halfstep::initial_state(policy);
    std::array<std::remove_cvref_t<decltype(read(state))>, N - 1> result{};
    for (std::size_t i = 0; i + 1 < N; ++i) {
        policy.update(state, report_of(steps[i], policy.scale(state)));
        result[i] = read(state);
    }
    return result;
}

/// The loss scale after each step.
template <halfstep::loss_scaling P, std::size_t N>
constexpr std::array<float, N - 1> scales(P const& policy, char const (&steps)[N]) {
    return along(policy, steps, [&](auto const& state) { return policy.scale(state); });
}

/// What the caller is to hear after each step.
template <halfstep::loss_scaling P, std::size_t N>
constexpr std::array<halfstep::scaling_event, N - 1> events(P const& policy, char const (&steps)[N]) {
    return along(policy, steps, [&](auto const& state) { return policy.event(state); });
}

template <std::size_t N>
using scale_array = std::array<float, N>;

}  // namespace drive
