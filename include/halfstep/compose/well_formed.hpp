// SPDX-License-Identifier: Apache-2.0
/// Whether the entries of a recipe are policies, of the right slots, once each. The rules between policies are in
/// compatibility.hpp.
///
/// Predicates come first, the sentences that say which of them fails after them. A sentence cannot hold the name of a
/// type, so the function that says it is a template over the offender alone, and compilers print that name beside it.
#pragma once

#include <type_traits>

#include <halfstep/compose/choose.hpp>
#include <halfstep/concepts/communicator.hpp>
#include <halfstep/concepts/execution_backend.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/concepts/parameter_group.hpp>
#include <halfstep/concepts/sharding_layout.hpp>
#include <halfstep/concepts/state_rule.hpp>
#include <halfstep/concepts/storage_rule.hpp>
#include <halfstep/concepts/telemetry.hpp>
#include <halfstep/concepts/update_rule.hpp>
#include <halfstep/core/member_name.hpp>

namespace halfstep {

namespace well_formed {

template <class P>
concept of_the_machine = fills<P, communicator_slot> || fills<P, execution_backend_slot>;

template <class P>
concept in_some_slot = fills<P, parameter_group_slot> || fills<P, update_rule_slot> || fills<P, loss_scaling_slot> ||
                       fills<P, overflow_detection_slot> || fills<P, gradient_clipping_slot> ||
                       fills<P, storage_slot> || fills<P, state_slot> || fills<P, sharding_slot> ||
                       fills<P, telemetry_slot> || fills<P, on_slot> || fills<P, consent_slot> || of_the_machine<P>;

/// `P` models the concept of the slot that it fills. Whether a storage rule fits a dtype is a rule between policies.
template <class P>
concept modelled = parameter_group<P> || elementwise_rule<P> || loss_scaling<P> || overflow_detection<P> ||
                   gradient_clipping<P> || fills<P, storage_slot> || state_rule<P> || sharding_layout<P> ||
                   telemetry<P> || fills<P, on_slot> || fills<P, consent_slot>;

/// A `validate` that could not be called would be no validation.
template <class P>
concept validates_if_it_says_so = !member_name::validate<P> || requires(P const p) { p.validate(); };

template <class P>
concept per_group = static_cast<bool>(P::slot::per_group);

template <class Slot, class List>
inline constexpr int count_in_slot = 0;
template <class Slot, class... Ps>
inline constexpr int count_in_slot<Slot, type_list<Ps...>> = (static_cast<int>(fills<Ps, Slot>) + ... + 0);

/// A slot that a recipe may fill more than once.
template <class P>
concept repeatable = fills<P, parameter_group_slot> || fills<P, on_slot> || fills<P, consent_slot>;
template <class P, class All>
concept alone_in_its_slot = repeatable<P> || count_in_slot<typename P::slot, All> == 1;

/// `P` may stand in a recipe; `All` are all of its entries.
template <class P, class All>
concept entry = in_some_slot<P> && !of_the_machine<P> && modelled<P> && std::is_default_constructible_v<P> &&
                validates_if_it_says_so<P> && alone_in_its_slot<P, All>;
/// `P` may stand in an `on<>`; `Own` are all policies that the recipe gives that group alone.
template <class P, class Own>
concept entry_of_a_group = in_some_slot<P> && per_group<P> && entry<P, Own>;

template <class Tag, class Groups>
inline constexpr int groups_tagged = 0;
template <class Tag, class... Groups>
inline constexpr int groups_tagged<Tag, type_list<Groups...>> =
    (static_cast<int>(std::is_same_v<Tag, typename Groups::tag>) + ... + 0);
template <class Groups>
inline constexpr bool some_train = false;
template <class... Groups>
inline constexpr bool some_train<type_list<Groups...>> = (static_cast<bool>(Groups::trains) || ...);

// What to look for in a list; see choose::first_failing.
template <class All>
struct is_entry {
    template <class P>
    static constexpr bool holds = entry<P, All>;
};
template <class Own>
struct is_entry_of_a_group {
    template <class P>
    static constexpr bool holds = entry_of_a_group<P, Own>;
};
template <class Groups>
struct has_a_tag_of_its_own {
    template <class Group>
    static constexpr bool holds = groups_tagged<typename Group::tag, Groups> == 1;
};
template <class Groups, class... All>
struct is_on {
    template <class On>
    using own = choose::for_tag<typename On::tag, All...>;
    template <class On>
    static constexpr bool holds =
        groups_tagged<typename On::tag, Groups> != 0 &&
        std::is_void_v<choose::first_failing<is_entry_of_a_group<own<On>>, typename On::policies>>;
};

}  // namespace well_formed

namespace diagnose {

/// What can be wrong with `P` in a recipe of `All`, or among `All` that an on<> gives the group `Tag`; cheapest cause
/// first. One function and not several: each level is a line of the compiler's output above the sentence.
template <class P, class Tag, class All>
consteval auto an_entry() {
    using namespace well_formed;
    constexpr bool in_on = !std::is_void_v<Tag>;
    if constexpr (!in_some_slot<P>)
        static_assert(
            in_some_slot<P>,
            "halfstep: this value fits no slot of a recipe; a policy says 'using slot = halfstep::loss_scaling_slot' "
            "or the like, a dtype is named as fp16{} or dtype<float>{}");
    else if constexpr (of_the_machine<P>)
        static_assert(!of_the_machine<P>,
                      "halfstep: a recipe names no machine; give backend and communicator to optimizer_step");
    else if constexpr (in_on && !per_group<P>)
        static_assert(
            per_group<P>,
            "halfstep: on<...> takes policies that a group decides for itself (update rule, detection, storage, "
            "state); this one belongs to the whole step");
    else if constexpr (!modelled<P> && fills<P, parameter_group_slot>)
        a_parameter_group<P>();
    else if constexpr (!modelled<P> && fills<P, update_rule_slot>)
        an_update_rule<P>();
    else if constexpr (!modelled<P> && fills<P, loss_scaling_slot>)
        a_loss_scaling<P>();
    else if constexpr (!modelled<P> && fills<P, overflow_detection_slot>)
        an_overflow_detection<P>();
    else if constexpr (!modelled<P> && fills<P, gradient_clipping_slot>)
        a_gradient_clipping<P>();
    else if constexpr (!modelled<P> && fills<P, state_slot>)
        a_state_rule<P>();
    else if constexpr (!modelled<P> && fills<P, sharding_slot>)
        a_sharding_layout<P>();
    else if constexpr (!modelled<P>)
        a_telemetry<P>();
    else if constexpr (!std::is_default_constructible_v<P>)
        static_assert(std::is_default_constructible_v<P>,
                      "halfstep: this policy has no default value; give each of its members one");
    else if constexpr (!validates_if_it_says_so<P>)
        static_assert(validates_if_it_says_so<P>,
                      "halfstep: this policy's 'validate' cannot be called as 'constexpr void validate() const'");
    else if constexpr (in_on)
        static_assert(alone_in_its_slot<P, All>, "halfstep: on<...> gives one group two policies of one slot");
    else if constexpr (per_group<P>)
        static_assert(
            alone_in_its_slot<P, All>,
            "halfstep: this recipe names two policies of one slot; for one group of several, write on<group, policy>");
    else
        static_assert(alone_in_its_slot<P, All>,
                      "halfstep: this recipe names two policies of one slot, and the whole step has one");
}
template <class Tag, class Groups>
consteval auto a_group_tagged() {
    static_assert(well_formed::groups_tagged<Tag, Groups> != 0,
                  "halfstep: on<...> names a parameter group that the recipe does not have");
}
template <class Group, class Groups>
consteval auto a_tag_of_its_own() {
    static_assert(well_formed::groups_tagged<typename Group::tag, Groups> == 1,
                  "halfstep: two parameter groups of this recipe have the same tag; several dtypes need a group<tag, "
                  "dtype>{} each");
}
template <class Groups>
consteval auto a_group_that_trains() {
    static_assert(well_formed::some_train<Groups>,
                  "halfstep: this recipe has no parameter group that trains; name a dtype, or group<tag, dtype>{}");
}

/// True when `All` make a recipe; else the first mistake has been named, the others stay silent, and it is false.
template <class... All>
consteval auto a_recipe() {
    using namespace well_formed;
    using all = type_list<All...>;
    using wrong_entry = choose::first_failing<is_entry<all>, all>;
    if constexpr (!std::is_void_v<wrong_entry>) {
        an_entry<wrong_entry, void, all>();
        return false;
    } else {
        using groups = choose::in_slot<parameter_group_slot, All...>;
        using wrong_group = choose::first_failing<has_a_tag_of_its_own<groups>, groups>;
        using wrong_on = choose::first_failing<is_on<groups, All...>, choose::in_slot<on_slot, All...>>;
        if constexpr (!some_train<groups>) {
            a_group_that_trains<groups>();
            return false;
        } else if constexpr (!std::is_void_v<wrong_group>) {
            a_tag_of_its_own<wrong_group, groups>();
            return false;
        } else if constexpr (!std::is_void_v<wrong_on>) {
            using tag = typename wrong_on::tag;
            using own = typename is_on<groups, All...>::template own<wrong_on>;
            if constexpr (groups_tagged<tag, groups> == 0)
                a_group_tagged<tag, groups>();
            else
                an_entry<choose::first_failing<is_entry_of_a_group<own>, typename wrong_on::policies>, tag, own>();
            return false;
        } else {
            return true;
        }
    }
}

}  // namespace diagnose

}  // namespace halfstep
