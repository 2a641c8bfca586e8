// SPDX-License-Identifier: Apache-2.0
/// A trivially copyable tuple for values that live in device memory, and the list of types beside it.
#pragma once

#include <cstddef>
#include <utility>

#include <halfstep/core/config.hpp>

namespace halfstep {

template <class... Ts>
struct type_list {
    static constexpr std::size_t size = sizeof...(Ts);
};

/// The types of values, deduced. nvcc writes `decltype` of a template argument wrongly into what the host compiler
/// gets.
template <class... Ts>
type_list<Ts...> types_of(Ts const&...);

namespace detail {
template <std::size_t I, class T>
struct list_leaf {
    using type = T;
};
template <class Indices, class... Ts>
struct list_leaves;
template <std::size_t... I, class... Ts>
struct list_leaves<std::index_sequence<I...>, Ts...> : list_leaf<I, Ts>... {};
template <std::size_t I, class T>
list_leaf<I, T> find_leaf(list_leaf<I, T> const&);
}  // namespace detail

/// The type at place `I` of `Ts`.
template <std::size_t I, class... Ts>
using type_at = typename decltype(detail::find_leaf<I>(
    std::declval<detail::list_leaves<std::index_sequence_for<Ts...>, Ts...> const&>()))::type;

namespace detail {

template <std::size_t I, class T>
struct pack_leaf {
    T value;
};

template <class Indices, class... Ts>
struct pack_base;
template <std::size_t... I, class... Ts>
struct pack_base<std::index_sequence<I...>, Ts...> : pack_leaf<I, Ts>... {};

template <std::size_t I, class T>
HS_FUNCTION constexpr T& leaf_value(pack_leaf<I, T>& leaf) {
    return leaf.value;
}
template <std::size_t I, class T>
HS_FUNCTION constexpr T const& leaf_value(pack_leaf<I, T> const& leaf) {
    return leaf.value;
}

}  // namespace detail

/// An aggregate of one value per type. Unlike std::tuple it is trivially copyable when its members are, and usable in
/// device code.
template <class... Ts>
struct pack : detail::pack_base<std::index_sequence_for<Ts...>, Ts...> {
    static constexpr std::size_t size = sizeof...(Ts);
};

template <std::size_t I, class... Ts>
HS_FUNCTION constexpr auto& get(pack<Ts...>& p) {
    return detail::leaf_value<I>(p);
}
template <std::size_t I, class... Ts>
HS_FUNCTION constexpr auto const& get(pack<Ts...> const& p) {
    return detail::leaf_value<I>(p);
}

/// Calls `f(std::integral_constant<std::size_t, 0>{})` … up to `N - 1`.
template <std::size_t N, class F>
HS_FUNCTION constexpr void for_each_index(F&& f) {
    if constexpr (N == 1)  // most recipes have one group; a compiler has less to do
        f(std::integral_constant<std::size_t, 0>{});
    else
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f(std::integral_constant<std::size_t, I>{}), ...);
        }(std::make_index_sequence<N>{});
}

}  // namespace halfstep
