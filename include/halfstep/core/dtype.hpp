// SPDX-License-Identifier: Apache-2.0
/// The storage types: fp16, bf16, fp8_e4m3, fp8_e5m2, beside the language's own float.
///
/// They hold bits and convert; arithmetic is done in float. Integers inside, because g++ 12 has no `__bf16`, clang 14
/// no
/// `_Float16`, and neither vectorises a loop over `_Float16` conversions.
#pragma once

#include <cstdint>
#include <type_traits>

#include <halfstep/core/config.hpp>
#include <halfstep/core/convert.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

namespace detail {

/// A storage type of `Format`. Structural and trivial: usable as a template argument, and in unions and memcpy.
template <class Format>
struct minifloat {
    using format = Format;
    using bits_type = typename Format::bits_type;

    bits_type bits;

    minifloat() = default;
    /// Rounds to nearest, ties to even; overflow as the format says (inf, or the largest finite value for fp8_e4m3).
    HS_FUNCTION constexpr explicit minifloat(float x) : bits(static_cast<bits_type>(narrow_bits<Format>(bits_of(x)))) {}
    HS_FUNCTION constexpr explicit operator float() const { return real_of(widen_bits<Format>(std::uint32_t{bits})); }
    HS_FUNCTION static constexpr minifloat from_bits(bits_type b) {
        minifloat x{};
        x.bits = b;
        return x;
    }
    /// Compares bits, so that a test can ask whether a byte moved; -0 and +0 differ, a NaN equals itself.
    friend bool operator==(minifloat, minifloat) = default;
};

}  // namespace detail

/// IEEE binary16: 5 exponent bits, 10 mantissa bits, largest 65504.
using fp16 = detail::minifloat<format::fp16>;
/// The upper half of a binary32: 8 exponent bits, 7 mantissa bits.
using bf16 = detail::minifloat<format::bf16>;
/// OCP fp8 E4M3 ("FN"): no infinity, largest 448, 0x7F and 0xFF are NaN; conversions saturate.
using fp8_e4m3 = detail::minifloat<format::fp8_e4m3>;
/// OCP fp8 E5M2: largest 57344, with infinity.
using fp8_e5m2 = detail::minifloat<format::fp8_e5m2>;

/// What a policy may ask about a storage type. Specialised for the five; `is_storage_type` is false for others.
template <class T>
struct dtype_traits {
    static constexpr bool is_storage_type = false;
};
template <class Format>
struct dtype_traits<detail::minifloat<Format>> : Format {
    static constexpr bool is_storage_type = true;
};
template <>
struct dtype_traits<float> : format::fp32 {
    static constexpr bool is_storage_type = true;
};

template <class T>
concept storage_type = dtype_traits<T>::is_storage_type;

/// A type of 16 bits or fewer, in which an optimizer cannot accumulate small updates by itself.
template <class T>
concept narrow_type = storage_type<T> && (sizeof(T) < sizeof(float));

/// A type whose smallest positive value is so large that gradients vanish without a loss scale: fp16 and both fp8.
template <class T>
concept narrow_range_type = narrow_type<T> && (dtype_traits<T>::exponent_bits < 8);

/// Names a dtype where a value is wanted: `recipe<dtype<float>{}, adamw{}>`.
template <class T>
struct dtype {};

HS_FUNCTION constexpr float widen(float x) { return x; }
template <class Format>
HS_FUNCTION constexpr float widen(detail::minifloat<Format> x) {
    return static_cast<float>(x);
}
/// `x` as a `T`, rounded to nearest even.
template <storage_type T>
HS_FUNCTION constexpr T narrow(float x) {
    return T(x);
}

static_assert(std::is_trivial_v<fp16> && sizeof(fp16) == 2 && sizeof(bf16) == 2);
static_assert(sizeof(fp8_e4m3) == 1 && sizeof(fp8_e5m2) == 1);

}  // namespace halfstep
