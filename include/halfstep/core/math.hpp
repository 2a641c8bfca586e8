// SPDX-License-Identifier: Apache-2.0
/// Correctly rounded scalar arithmetic, the same in constant expressions, on the host and on the device.
///
/// Rules are generic in their value type: they call `fma`, `sqrt`, `select`, … unqualified, so that `float` finds these
/// functions and a pack of SIMD lanes finds its own by argument-dependent lookup. A policy outside this namespace says
/// `using halfstep::fma;` first. Every product that feeds a sum is an explicit `fma`: bits never depend on whether a
/// compiler contracts `a * b + c`.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <halfstep/core/config.hpp>

namespace halfstep {

/// The bit pattern of `x`, and back.
HS_BOTH_SIDES constexpr std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
HS_BOTH_SIDES constexpr float real_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The integer `x` as a float; exact below 2^24.
HS_FUNCTION constexpr float to_real(std::uint32_t x) { return static_cast<float>(x); }

/// The non-negative real `x` below 2^31 as an integer, its fraction cut off.
HS_FUNCTION constexpr std::uint32_t truncate_to_bits(float x) { return static_cast<std::uint32_t>(x); }

/// `condition ? yes : no`, without a branch where the value type has lanes.
template <class T>
    requires std::is_arithmetic_v<T>
HS_FUNCTION constexpr T select(bool condition, T yes, T no) {
    return condition ? yes : no;
}

/// The lesser and the greater of two numbers; `b` where either is a NaN or they are equal. (What MINPS and MAXPS of x86
/// compute.)
HS_FUNCTION constexpr float lesser(float a, float b) { return a < b ? a : b; }
HS_BOTH_SIDES constexpr std::uint32_t lesser(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) return umin(a, b);  // nvcc makes two instructions of the comparison
#endif
    return a < b ? a : b;
}
HS_FUNCTION constexpr float greater(float a, float b) { return a > b ? a : b; }

HS_BOTH_SIDES constexpr float abs(float x) {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) return fabsf(x);
#endif
    return real_of(bits_of(x) & 0x7FFFFFFFu);
}

/// True for inf and NaN.
HS_BOTH_SIDES constexpr bool is_nonfinite(float x) { return (bits_of(x) & 0x7F800000u) == 0x7F800000u; }
HS_BOTH_SIDES constexpr bool is_nonfinite(double x) {
    constexpr std::uint64_t exponent = 0x7FF0000000000000u;
    return (std::bit_cast<std::uint64_t>(x) & exponent) == exponent;
}

namespace detail {

/// fma by exact double arithmetic, rounded to odd before the final rounding (Boldo and Melquiond, 2008, theorem 3).
HS_BOTH_SIDES constexpr float exact_fma(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b);  // 48 bits: exact
    const double addend = c;
    const double sum = product + addend;
    if (is_nonfinite(sum)) return static_cast<float>(sum);
    const double other = sum - product;
    const double error = (product - (sum - other)) + (addend - other);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (error != 0 && (bits & 1) == 0) bits += ((error > 0) == (sum > 0)) ? std::uint64_t{1} : ~std::uint64_t{0};
    return static_cast<float>(std::bit_cast<double>(bits));
}

#if defined(__SIZEOF_INT128__)
__extension__ using wide_unsigned = unsigned __int128;

/// Correctly rounded square root for constant expressions: the integer root of the mantissa, one bit at a time.
constexpr double exact_sqrt(double x) {
    if (!(x > 0) || is_nonfinite(x)) return x == 0 || x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
    int exponent = 0;
    while (x < 0x1p-200) {  // subnormals and small values: an even power of two is taken out first
        x *= 0x1p200;
        exponent -= 100;
    }
    const auto bits = std::bit_cast<std::uint64_t>(x);
    int power = static_cast<int>(bits >> 52) - 1075;
    wide_unsigned mantissa = (bits & 0xFFFFFFFFFFFFFu) | 0x10000000000000u;
    mantissa <<= 55;
    power -= 55;
    if (power % 2 != 0) {
        mantissa <<= 1;
        power -= 1;
    }
    wide_unsigned root = 0;
    for (int bit = 56; bit >= 0; --bit) {
        const wide_unsigned candidate = root | (wide_unsigned{1} << bit);
        if (candidate * candidate <= mantissa) root = candidate;
    }
    auto sticky = static_cast<std::uint64_t>(root) << 2;  // two spare bits and a sticky one, then round to nearest even
    if (root * root != mantissa) sticky |= 1;
    const int excess = static_cast<int>(std::bit_width(sticky)) - 53;
    const std::uint64_t half = std::uint64_t{1} << (excess - 1);
    const std::uint64_t rest = sticky & ((half << 1) - 1);
    std::uint64_t result = sticky >> excess;
    if (rest > half || (rest == half && (result & 1) != 0)) ++result;
    double value = static_cast<double>(result);
    for (int shift = power / 2 - 2 + excess + exponent; shift != 0; shift += shift > 0 ? -1 : 1)
        value *= shift > 0 ? 2.0 : 0.5;
    return value;
}
#endif

}  // namespace detail

/// `a * b + c` with one rounding.
HS_BOTH_SIDES constexpr float fma(float a, float b, float c) {
    if (std::is_constant_evaluated()) return detail::exact_fma(a, b, c);
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/// The correctly rounded square root.
HS_BOTH_SIDES constexpr double sqrt(double x) {
    if (std::is_constant_evaluated()) return detail::exact_sqrt(x);
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}
HS_BOTH_SIDES constexpr float sqrt(float x) {
    // Twice 24 bits and two more fit a double, so rounding twice is rounding once (Figueroa, 1995).
    if (std::is_constant_evaluated()) return static_cast<float>(detail::exact_sqrt(x));
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return __builtin_sqrtf(x);
#endif
}

/// `a * b`, rounded before anything is added to it: no compiler contracts it into an fma. For the few products of
/// doubles that feed a sum; products of floats that do are written as `fma`.
HS_BOTH_SIDES constexpr double multiply(double a, double b) {
    if (std::is_constant_evaluated()) return a * b;
#if defined(__CUDA_ARCH__)
    return __dmul_rn(a, b);
#else
    double product = a * b;
#if defined(__x86_64__)
    __asm__("" : "+x"(product));
#elif defined(__aarch64__)
    __asm__("" : "+w"(product));
#else
    __asm__("" : "+m"(product));
#endif
    return product;
#endif
}

/// `base` to the power `exponent` >= 0, by squaring: the same bits on every backend.
HS_FUNCTION constexpr double power(double base, std::int64_t exponent) {
    double result = (exponent & 1) != 0 ? base : 1;
    while ((exponent >>= 1) > 0) {  // no square more than is used: it could overflow, which no constant expression may
        base = multiply(base, base);
        if ((exponent & 1) != 0) result = multiply(result, base);
    }
    return result;
}

}  // namespace halfstep
