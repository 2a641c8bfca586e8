// SPDX-License-Identifier: Apache-2.0
/// Types of other libraries that have the bits of ours. They are viewed in place, never converted.
#pragma once

#include <type_traits>

#include <halfstep/core/dtype.hpp>

// CUDA's own types, declared and not included: the host half needs no toolkit.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace halfstep {

/// The storage type with the bits of `Foreign`; specialise it for a type of your own.
template <class Foreign>
struct storage_of {};
template <storage_type T>
struct storage_of<T> {
    using type = T;
};
template <>
struct storage_of<__half> {
    using type = fp16;
};
template <>
struct storage_of<__nv_bfloat16> {
    using type = bf16;
};
template <>
struct storage_of<__nv_fp8_e4m3> {
    using type = fp8_e4m3;
};
template <>
struct storage_of<__nv_fp8_e5m2> {
    using type = fp8_e5m2;
};
#if defined(__FLT16_MANT_DIG__)
template <>
struct storage_of<_Float16> {
    using type = fp16;
};
#endif

namespace detail {
template <class Foreign, class = void>
struct storage_or_void {
    using type = void;
};
template <class Foreign>
struct storage_or_void<Foreign, std::void_t<typename storage_of<Foreign>::type>> {
    using type = typename storage_of<Foreign>::type;
};
}  // namespace detail

/// `storage_of`, or void for a type that is none of ours.
template <class Foreign>
using storage_of_t = typename detail::storage_or_void<Foreign>::type;

/// Foreign elements seen as ours, in place. `Element` is a storage type, const or not.
///
/// The loops read 16-bit storage through types that may alias (see `load` of the lanes), so the view itself is safe.
template <class Element, class Foreign>
Element* bit_view(Foreign* data) {
    static_assert(
        std::is_same_v<storage_of_t<std::remove_cv_t<Foreign>>, std::remove_cv_t<Element>>,
        "halfstep: a zero-copy view needs a foreign type of the same bits; specialise storage_of for one of your own");
    return reinterpret_cast<Element*>(data);
}

}  // namespace halfstep
