// SPDX-License-Identifier: Apache-2.0
/// Policies for one group, in a recipe and at construction.
#pragma once

#include <type_traits>
#include <utility>

#include <halfstep/core/pack.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep {

/// In a recipe: `on<backbone, stochastic_rounding{}>{}` gives the group tagged `Tag` policies of its own. They may be
/// of any slot that a group decides for itself: update rule, detection, storage, state.
template <class Tag, auto... Policies>
struct on {
    using slot = on_slot;
    using tag = Tag;
    using policies = decltype(types_of(Policies...));
};

/// At construction: other values for one group's policy, of the type that the recipe gives it. Made by `in_group`.
template <class Tag, class Policy>
struct group_override {
    using tag = Tag;
    Policy policy;
};

/// `optimizer_step opt{recipe{}, in_group<head>(adamw{.weight_decay = 0})}`.
template <class Tag, class Policy>
constexpr group_override<Tag, Policy> in_group(Policy policy) {
    return {std::move(policy)};
}

}  // namespace halfstep
