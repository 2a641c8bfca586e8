// SPDX-License-Identifier: Apache-2.0
/// Which step `optimizer_step opt{recipe, …}` makes, and what of its other arguments goes where.
#pragma once

#include <type_traits>
#include <utility>

#include <halfstep/compose/recipe.hpp>
#include <halfstep/concepts/communicator.hpp>
#include <halfstep/concepts/execution_backend.hpp>

namespace halfstep::detail {

template <class Slot, class Default, class... Arguments>
using argument_in_slot =
    typename choose::first_or<choose::in_slot<Slot, std::remove_cvref_t<Arguments>...>, Default>::type;

template <class X, class... All>
inline constexpr bool given_once = (static_cast<int>(std::is_same_v<X, All>) + ... + 0) == 1;

/// `Composition`, where the other arguments of a construction go with it; else the first that does not has spoken.
template <class Composition, class Backend, class Communicator, class... Arguments>
consteval auto constructed() {
    if constexpr (std::is_same_v<Composition, invalid_composition>) {
        return std::type_identity<invalid_composition>{};
    } else if constexpr (!execution_backend<Backend>) {
        diagnose::an_execution_backend<Backend>();
        return std::type_identity<invalid_composition>{};
    } else if constexpr (!communicator<Communicator>) {
        diagnose::a_communicator<Communicator>();
        return std::type_identity<invalid_composition>{};
    } else {
        constexpr bool one_machine = well_formed::count_in_slot<execution_backend_slot, type_list<Arguments...>> <= 1 &&
                                     well_formed::count_in_slot<communicator_slot, type_list<Arguments...>> <= 1;
        constexpr bool all_once = (given_once<Arguments, Arguments...> && ...);
        static_assert(one_machine, "halfstep: a step runs on one backend and with one communicator");
        static_assert(
            !one_machine || all_once,
            "halfstep: two values of one policy type at construction; in_group<tag>(policy) gives a group its own");
        return std::type_identity<Composition>{};
    }
}

template <class X>
inline constexpr bool is_recipe_or_step = false;
template <auto... Entries>
inline constexpr bool is_recipe_or_step<recipe<Entries...>> = true;
template <class X>
consteval auto constructed_without_recipe() {
    static_assert(is_recipe_or_step<X>,
                  "halfstep: a step is made from a recipe first, as optimizer_step opt{recipe<fp16{}, adamw{}>{}}");
    return std::type_identity<invalid_composition>{};
}

/// The argument that fills `Slot`, else a default one.
template <class Slot, class Wanted>
Wanted argument() {
    return Wanted{};
}
template <class Slot, class Wanted, class First, class... Rest>
Wanted argument(First&& first, Rest&&... rest) {
    if constexpr (fills<std::remove_cvref_t<First>, Slot>)
        return std::forward<First>(first);
    else
        return argument<Slot, Wanted>(std::forward<Rest>(rest)...);
}

}  // namespace halfstep::detail
