// SPDX-License-Identifier: Apache-2.0
/// The independent choices of a recipe. A policy opts in with `using slot = …;`, its concept then checks the members.
#pragma once

#include <type_traits>

namespace halfstep {

// `per_group`: the choice may differ from group to group, with `on<group, policy>`.
struct parameter_group_slot {
    static constexpr bool per_group = false;
};
struct update_rule_slot {
    static constexpr bool per_group = true;
};
struct loss_scaling_slot {
    static constexpr bool per_group = false;
};
struct overflow_detection_slot {
    static constexpr bool per_group = true;
};
struct gradient_clipping_slot {
    static constexpr bool per_group = false;
};
struct storage_slot {
    static constexpr bool per_group = true;
};
struct state_slot {
    static constexpr bool per_group = true;
};
struct sharding_slot {
    static constexpr bool per_group = false;
};
struct telemetry_slot {
    static constexpr bool per_group = false;
};
struct communicator_slot {
    static constexpr bool per_group = false;
};
struct execution_backend_slot {
    static constexpr bool per_group = false;
};
/// Policies for one group.
struct on_slot {
    static constexpr bool per_group = false;
};
/// Something that the recipe's author says they know: `accept_underflow`.
struct consent_slot {
    static constexpr bool per_group = false;
};

/// `P` says that it fills `Slot`.
template <class P, class Slot>
concept fills = requires { typename P::slot; } && std::is_same_v<typename P::slot, Slot>;

}  // namespace halfstep
