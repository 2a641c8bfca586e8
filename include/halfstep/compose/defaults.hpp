// SPDX-License-Identifier: Apache-2.0
/// What a slot holds that a recipe does not name. The one place in this folder that knows stock policies.
#pragma once

#include <halfstep/communicator/self.hpp>
#include <halfstep/core/dtype.hpp>
#include <halfstep/core/slots.hpp>
#include <halfstep/gradient_clipping/no_clipping.hpp>
#include <halfstep/host/host_backend.hpp>
#include <halfstep/loss_scaling/dynamic_scaling.hpp>
#include <halfstep/loss_scaling/no_scaling.hpp>
#include <halfstep/overflow_detection/nonfinite_check.hpp>
#include <halfstep/parameter_group/group.hpp>
#include <halfstep/sharding/replicated.hpp>
#include <halfstep/state/fp32_state.hpp>
#include <halfstep/storage/fp32_master.hpp>
#include <halfstep/storage/in_place.hpp>
#include <halfstep/telemetry/no_telemetry.hpp>
#include <halfstep/update_rule/adamw.hpp>

namespace halfstep::defaults {

/// The default policy of a slot; `Groups` are the recipe's groups, or the one group that a slot is filled for.
template <class Slot, class... Groups>
struct policy;
template <class Slot, class... Groups>
using policy_t = typename policy<Slot, Groups...>::type;

template <class... Groups>
struct policy<loss_scaling_slot, Groups...> {
    static constexpr bool narrow = ((Groups::trains && narrow_range_type<typename Groups::gradient_type>) || ...);
    using type = std::conditional_t<narrow, dynamic_scaling, no_scaling>;
};
template <class... Groups>
struct policy<gradient_clipping_slot, Groups...> {
    using type = no_clipping;
};
template <class... Groups>
struct policy<sharding_slot, Groups...> {
    using type = replicated;
};
template <class... Groups>
struct policy<telemetry_slot, Groups...> {
    using type = no_telemetry;
};
template <class Group>
struct policy<update_rule_slot, Group> {
    using type = adamw;
};
template <class Group>
struct policy<overflow_detection_slot, Group> {
    using type = nonfinite_check;
};
template <class Group>
struct policy<storage_slot, Group> {
    using type = std::conditional_t<narrow_type<typename Group::type>, fp32_master, in_place>;
};
template <class Group>
struct policy<state_slot, Group> {
    using type = fp32_state<>;
};

/// The one group of the short form.
template <class T>
using only_group = group<everything, T>;

using backend = host_backend;
using communicator = self;

}  // namespace halfstep::defaults
