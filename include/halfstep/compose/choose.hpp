// SPDX-License-Identifier: Apache-2.0
/// Finds a recipe's policies by slot and group. Types only, by Boost.Hana; nothing of it remains at run time.
#pragma once

#include <cstddef>
#include <type_traits>

#include <boost/hana/bool.hpp>
#include <boost/hana/filter.hpp>
#include <boost/hana/flatten.hpp>
#include <boost/hana/transform.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>

#include <halfstep/core/dtype.hpp>
#include <halfstep/core/pack.hpp>
#include <halfstep/core/slots.hpp>

namespace halfstep::choose {

namespace hana = boost::hana;

struct as_type_list {
    template <class... Types>
    constexpr auto operator()(Types...) const -> hana::type<type_list<typename Types::type...>> {
        return {};
    }
};
template <class HanaTuple>
using type_list_of = typename decltype(hana::unpack(HanaTuple{}, as_type_list{}))::type;

template <class Slot>
struct fills_slot {
    template <class P>
    constexpr auto operator()(P) const {
        return hana::bool_c<fills<typename P::type, Slot>>;
    }
};
template <class Tag>
struct is_on {
    template <class P>
    constexpr auto operator()(P) const {
        if constexpr (fills<typename P::type, on_slot>)
            return hana::bool_c<std::is_same_v<typename P::type::tag, Tag>>;
        else
            return hana::false_c;
    }
};
struct policies_of_on {
    template <class P>
    constexpr auto operator()(P) const {
        return []<class... Ps>(type_list<Ps...>) { return hana::tuple_t<Ps...>; }(typename P::type::policies{});
    }
};

/// The entries of a recipe that fill `Slot`, in order.
template <class Slot, class... Ps>
using in_slot = type_list_of<decltype(hana::filter(hana::tuple_t<Ps...>, fills_slot<Slot>{}))>;

/// The policies that `on<Tag, …>` entries give one group, in order.
template <class Tag, class... Ps>
using for_tag = type_list_of<decltype(hana::flatten(
    hana::transform(hana::filter(hana::tuple_t<Ps...>, is_on<Tag>{}), policies_of_on{})))>;

template <class List, class Slot>
struct list_in_slot;
template <class... Ps, class Slot>
struct list_in_slot<type_list<Ps...>, Slot> {
    using type = in_slot<Slot, Ps...>;
};

/// The first type of a list, or `Otherwise`.
template <class List, class Otherwise>
struct first_or {
    using type = Otherwise;
};
template <class First, class... Rest, class Otherwise>
struct first_or<type_list<First, Rest...>, Otherwise> {
    using type = First;
};

template <class Test, class List>
struct first_failing_of {
    using type = void;
};
template <class Test, class First, class... Rest>
struct first_failing_of<Test, type_list<First, Rest...>>
    : std::conditional_t<Test::template holds<First>, first_failing_of<Test, type_list<Rest...>>,
                         std::type_identity<First>> {};
/// The first type of a list for which `Test::holds` is false; void where there is none.
template <class Test, class List>
using first_failing = typename first_failing_of<Test, List>::type;

/// The policy of `Group` in `Slot`: its own, else the recipe's, else `Default`.
template <class Group, class Slot, class Default, class... Ps>
using group_policy = typename first_or<typename list_in_slot<for_tag<typename Group::tag, Ps...>, Slot>::type,
                                       typename first_or<in_slot<Slot, Ps...>, Default>::type>::type;

}  // namespace halfstep::choose
