// SPDX-License-Identifier: Apache-2.0
/// What `bind` takes: tensors of the group's type, that are there for the step to read and write later.
#pragma once

#include <span>  // and std::begin; <iterator> itself brings the stream iterators
#include <type_traits>
#include <utility>

#include <halfstep/core/tensor.hpp>

namespace halfstep {

/// `R` is the type of the argument as it was given: `X&`, or `X` for a temporary.
namespace bindable {

template <class R>
using item = decltype(*std::begin(std::declval<std::remove_reference_t<R>&>()));

/// One tensor with the bits of `T`, or a range of them.
template <class R, class T>
concept tensors = tensor_like<R, T> || tensor_range<R, T>;

template <class R, class T>
struct tensor_of {
    using type = item<R>;
};
template <class R, class T>
    requires tensor_like<R, T>
struct tensor_of<R, T> {
    using type = R;
};
template <class R, class T>
concept not_const = !std::is_const_v<element_of_t<std::remove_reference_t<typename tensor_of<R, T>::type>>>;

/// What is const with its owner goes with its owner: a container, not a view.
template <class X>
concept holds_elements = std::is_const_v<element_of_t<X const>> && !std::is_const_v<element_of_t<X>>;
template <class X>
concept holds_items =
    std::is_const_v<std::remove_reference_t<item<X const>>> && !std::is_const_v<std::remove_reference_t<item<X>>>;
template <class R, class T>
inline constexpr bool stays =
    !holds_elements<std::remove_cvref_t<item<R>>> ||
    (std::is_lvalue_reference_v<item<R>> && (std::is_lvalue_reference_v<R> || !holds_items<R>));
template <class R, class T>
    requires tensor_like<R, T>
inline constexpr bool stays<R, T> = std::is_lvalue_reference_v<R> || !holds_elements<R>;

template <class R, class T>
concept parameters = tensors<R, T> && not_const<R, T> && stays<R, T>;
/// `Written`: the ranks' mean is taken in place.
template <class R, class T, bool Written>
concept gradients = tensors<R, T> && (!Written || not_const<R, T>)&&stays<R, T>;

}  // namespace bindable

namespace diagnose {

template <class R, class T>
consteval auto bound_parameters() {
    using namespace bindable;
    if constexpr (!tensors<R, T>)
        static_assert(
            tensors<R, T>,
            "halfstep: these parameters are not tensors of the group's dtype (or a type of the same bits); give a "
            "contiguous range, a tensor_view, or a range of them");
    else if constexpr (!not_const<R, T>)
        static_assert(not_const<R, T>,
                      "halfstep: parameters are written; bind them from a range whose elements are not const");
    else
        static_assert(
            stays<R, T>,
            "halfstep: bind keeps addresses, and these parameters are gone after the call; bind a range that lives on");
}
template <class R, class T, bool Written>
consteval auto bound_gradients() {
    using namespace bindable;
    if constexpr (!tensors<R, T>)
        static_assert(
            tensors<R, T>,
            "halfstep: these gradients are not tensors of the group's gradient type (or a type of the same bits); "
            "give a contiguous range, a tensor_view, or a range of them");
    else if constexpr (Written && !not_const<R, T>)
        static_assert(
            not_const<R, T>,
            "halfstep: gradients of several ranks are averaged in place; bind them from a range whose elements are "
            "not const");
    else
        static_assert(
            stays<R, T>,
            "halfstep: bind keeps addresses, and these gradients are gone after the call; bind a range that lives on");
}

}  // namespace diagnose

}  // namespace halfstep
