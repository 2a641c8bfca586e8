// SPDX-License-Identifier: Apache-2.0
/// Whether the entries of a recipe are policies, of the right slots, once each. The rules between policies are in compatibility.hpp.
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

namespace halfstep {

namespace well_formed {

template <class P>
concept in_some_slot =
    fills<P, parameter_group_slot> || fills<P, update_rule_slot> || fills<P, loss_scaling_slot> ||
    fills<P, overflow_detection_slot> || fills<P, gradient_clipping_slot> || fills<P, storage_slot> ||
    fills<P, state_slot> || fills<P, sharding_slot> || fills<P, telemetry_slot> || fills<P, on_slot> ||
    fills<P, consent_slot> || fills<P, communicator_slot> || fills<P, execution_backend_slot>;

template <class P>
concept of_the_machine = fills<P, communicator_slot> || fills<P, execution_backend_slot>;

/// `P` models the concept of the slot that it fills. Whether a storage rule fits a dtype is a rule between policies.
template <class P>
concept modelled = parameter_group<P> || elementwise_rule<P> || loss_scaling<P> || overflow_detection<P> ||
                   gradient_clipping<P> || fills<P, storage_slot> || state_rule<P> || sharding_layout<P> || telemetry<P> ||
                   fills<P, on_slot> || fills<P, consent_slot>;

template <class P, class... Others>
inline constexpr int count_in_slot_of = (static_cast<int>(fills<Others, typename P::slot>) + ... + 0);

/// A slot that a recipe may fill more than once.
template <class P>
concept repeatable = fills<P, parameter_group_slot> || fills<P, on_slot> || fills<P, consent_slot>;

template <class List>
struct list;
template <class... Ps>
struct list<type_list<Ps...>> {
    static constexpr bool all_in_some_slot = (in_some_slot<Ps> && ...);
    static constexpr bool none_of_the_machine = (!of_the_machine<Ps> && ...);
    static constexpr bool all_modelled = (modelled<Ps> && ...);
    static constexpr bool no_slot_twice = ((repeatable<Ps> || count_in_slot_of<Ps, Ps...> == 1) && ...);
    static constexpr bool all_per_group = ((Ps::slot::per_group) && ...);
};

template <class Tag, class List>
struct tag_count;
template <class Tag, class... Groups>
struct tag_count<Tag, type_list<Groups...>> {
    static constexpr int value = (static_cast<int>(std::is_same_v<Tag, typename Groups::tag>) + ... + 0);
};
template <class List>
struct groups;
template <class... Groups>
struct groups<type_list<Groups...>> {
    static constexpr bool some_train = (Groups::trains || ...);
    static constexpr bool distinct = ((tag_count<typename Groups::tag, type_list<Groups...>>::value == 1) && ...);
};

template <class On, class... Ps>
struct on_entry {
    using policies = list<typename On::policies>;
    using own = list<choose::for_tag<typename On::tag, Ps...>>;  // of all on<> entries of this tag
    static constexpr bool names_a_group =
        tag_count<typename On::tag, choose::in_slot<parameter_group_slot, Ps...>>::value == 1;
};

}  // namespace well_formed

namespace diagnose {

/// Says what `P` lacks to model the concept of its slot.
template <class P>
consteval bool a_policy() {
    if constexpr (fills<P, parameter_group_slot>)
        return a_parameter_group<P>();
    else if constexpr (fills<P, update_rule_slot>)
        return an_update_rule<P>();
    else if constexpr (fills<P, loss_scaling_slot>)
        return a_loss_scaling<P>();
    else if constexpr (fills<P, overflow_detection_slot>)
        return an_overflow_detection<P>();
    else if constexpr (fills<P, gradient_clipping_slot>)
        return a_gradient_clipping<P>();
    else if constexpr (fills<P, state_slot>)
        return a_state_rule<P>();
    else if constexpr (fills<P, sharding_slot>)
        return a_sharding_layout<P>();
    else
        return a_telemetry<P>();
}

/// The first entry that is not modelled speaks.
template <class First, class... Rest>
consteval bool first_unmodelled() {
    if constexpr (!well_formed::modelled<First>)
        return a_policy<First>();
    else
        return first_unmodelled<Rest...>();
}

template <class P>
consteval bool is_no_policy() {
    static_assert(well_formed::in_some_slot<P>,
                  "halfstep: this value fits no slot of a recipe: a policy says 'using slot = halfstep::…_slot'");
    return true;
}
template <class First, class... Rest>
consteval bool first_without_slot() {
    if constexpr (!well_formed::in_some_slot<First>)
        return is_no_policy<First>();
    else
        return first_without_slot<Rest...>();
}

template <class List>
struct unpacked;
template <class... Ps>
struct unpacked<type_list<Ps...>> {
    static consteval bool first_without_slot() { return diagnose::first_without_slot<Ps...>(); }
    static consteval bool first_unmodelled() { return diagnose::first_unmodelled<Ps...>(); }
};

/// True when `on<…>` is well formed; else it has spoken and is false.
template <class On, class... Ps>
consteval bool on_is_well_formed() {
    using entry = well_formed::on_entry<On, Ps...>;
    if constexpr (!entry::names_a_group) {
        static_assert(entry::names_a_group, "halfstep: on<…> names a parameter group that the recipe does not have");
        return false;
    } else if constexpr (!entry::policies::all_in_some_slot) {
        unpacked<typename On::policies>::first_without_slot();
        return false;
    } else if constexpr (!entry::policies::all_per_group) {
        static_assert(entry::policies::all_per_group,
                      "halfstep: on<…> takes policies that a group decides for itself (update rule, detection, storage, "
                      "state); this one belongs to the whole step");
        return false;
    } else if constexpr (!entry::policies::all_modelled) {
        unpacked<typename On::policies>::first_unmodelled();
        return false;
    } else if constexpr (!entry::own::no_slot_twice) {
        static_assert(entry::own::no_slot_twice, "halfstep: on<…> gives one group two policies of the same slot");
        return false;
    } else {
        return true;
    }
}
template <class... Ps>
consteval bool ons_are_well_formed() {
    return []<class... Ons>(type_list<Ons...>) {
        return (on_is_well_formed<Ons, Ps...>() && ...);
    }(choose::in_slot<on_slot, Ps...>{});
}

/// True when the entries of a recipe are well formed; else it has spoken and is false.
template <class... Ps>
consteval bool entries_are_well_formed() {
    using entries = well_formed::list<type_list<Ps...>>;
    if constexpr (!entries::all_in_some_slot) {
        first_without_slot<Ps...>();
        return false;
    } else if constexpr (!entries::none_of_the_machine) {
        static_assert(entries::none_of_the_machine,
                      "halfstep: a recipe names no machine: give backend and communicator to optimizer_step");
        return false;
    } else if constexpr (!entries::all_modelled) {
        first_unmodelled<Ps...>();
        return false;
    } else if constexpr (!entries::no_slot_twice) {
        static_assert(entries::no_slot_twice,
                      "halfstep: this recipe names two policies of the same slot; for one group of several, use on<group, policy>");
        return false;
    } else {
        using groups = well_formed::groups<choose::in_slot<parameter_group_slot, Ps...>>;
        if constexpr (!groups::some_train) {
            static_assert(groups::some_train,
                          "halfstep: this recipe has no parameter group that trains: name a dtype, or group<tag, dtype>");
            return false;
        } else if constexpr (!groups::distinct) {
            static_assert(groups::distinct, "halfstep: two parameter groups of this recipe have the same tag");
            return false;
        } else {
            return ons_are_well_formed<Ps...>();
        }
    }
}

}  // namespace diagnose

}  // namespace halfstep
