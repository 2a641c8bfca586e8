// SPDX-License-Identifier: Apache-2.0
/// A recipe: policies as template arguments, in any order.
#pragma once

#include <type_traits>
#include <utility>

#include <halfstep/compose/choose.hpp>
#include <halfstep/compose/compatibility.hpp>
#include <halfstep/compose/composition.hpp>
#include <halfstep/compose/defaults.hpp>
#include <halfstep/compose/on.hpp>
#include <halfstep/compose/well_formed.hpp>

namespace halfstep {

/// What an ill-formed recipe comes down to: its sentence has been said, everything after stays quiet.
struct invalid_composition {};

namespace detail {

/// A dtype in a recipe is a recipe's only group.
template <class P>
constexpr P entry(P policy) {
    return policy;
}
template <class Format>
constexpr auto entry(minifloat<Format>) {
    return defaults::only_group<minifloat<Format>>{};
}
constexpr auto entry(float) { return defaults::only_group<float>{}; }
template <class T>
constexpr auto entry(dtype<T>) {
    return defaults::only_group<T>{};
}

template <class Slot, class Group, class... Ps>
using policy_of = choose::group_policy<Group, Slot, defaults::policy_t<Slot, Group>, Ps...>;
/// A frozen group is never written: a recipe's storage rule need not fit it.
template <class Group, class... Ps>
struct storage_choice {
    using group = Group;
    using storage = policy_of<storage_slot, Group, Ps...>;
};
template <class Group, class... Ps>
    requires(!Group::trains)
struct storage_choice<Group, Ps...> {
    using group = Group;
    using storage = defaults::policy_t<storage_slot, Group>;
};
template <class Group, class... Ps>
using plan_of =
    group_plan<Group, policy_of<update_rule_slot, Group, Ps...>, typename storage_choice<Group, Ps...>::storage,
               policy_of<state_slot, Group, Ps...>, policy_of<overflow_detection_slot, Group, Ps...>>;

template <class Groups, class... Ps>
struct composed;
template <class... Groups, class... Ps>
struct composed<type_list<Groups...>, Ps...> {
    template <class Slot>
    using whole = typename choose::first_or<choose::in_slot<Slot, Ps...>, defaults::policy_t<Slot, Groups...>>::type;

    static consteval auto type() {
        if constexpr (!diagnose::storage_of_groups<storage_choice<Groups, Ps...>...>()) {
            return std::type_identity<invalid_composition>{};
        } else {
            using scaling = whole<loss_scaling_slot>;
            using clipping = whole<gradient_clipping_slot>;
            constexpr bool accepts_underflow = (fills<Ps, consent_slot> || ...);
            if constexpr (diagnose::compatible_policies<accepts_underflow, scaling, clipping,
                                                        plan_of<Groups, Ps...>...>())
                return std::type_identity<composition<scaling, clipping, whole<sharding_slot>, whole<telemetry_slot>,
                                                      plan_of<Groups, Ps...>...>>{};
            else
                return std::type_identity<invalid_composition>{};
        }
    }
};

template <class... Ps>
consteval auto compose(type_list<Ps...>) {
    if constexpr (diagnose::a_recipe<Ps...>())
        return composed<choose::in_slot<parameter_group_slot, Ps...>, Ps...>::type();
    else
        return std::type_identity<invalid_composition>{};
}

/// `validate()` of a policy, where it has one: its throw stops the compiler, and its line is the message.
template <class P>
constexpr bool validate(P const& policy) {
    if constexpr (requires { policy.validate(); }) policy.validate();
    return true;
}
template <class Tag, auto... Policies>
constexpr bool validate(on<Tag, Policies...> const&) {
    return (validate(Policies) && ...);
}

}  // namespace detail

/// The whole of a mixed-precision step as one type. Each of `Entries` is a policy (a structural value), a parameter
/// group, `on<group, policy…>{}`, or a dtype for a single group. A slot that is not named takes its default.
///
/// An entry that is wrong by itself, or two that do not go together, stop the compiler with one sentence;
/// docs/errors.md has them all.
template <auto... Entries>
struct recipe {
    using composition = typename decltype(detail::compose(decltype(types_of(detail::entry(Entries)...)){}))::type;
    static_assert((detail::validate(detail::entry(Entries)) && ...));

    /// The value named for policy `P`, or its default.
    template <class P>
    static constexpr P value() {
        P result{};
        (take(result, detail::entry(Entries)), ...);
        return result;
    }
    /// The same for the group tagged `Tag`, whose own value comes first.
    template <class P, class Tag>
    static constexpr P group_value() {
        P result = value<P>();
        (take_from_on<Tag>(result, detail::entry(Entries)), ...);
        return result;
    }

  private:
    template <class P, class Entry>
    static constexpr void take(P& result, Entry const& entry) {
        if constexpr (std::is_same_v<P, Entry>) result = entry;
    }
    template <class Tag, class P, class Entry>
    static constexpr void take_from_on(P&, Entry const&) {}
    template <class Tag, class P, auto... Policies>
    static constexpr void take_from_on(P& result, on<Tag, Policies...> const&) {
        (take(result, Policies), ...);
    }
};

}  // namespace halfstep
