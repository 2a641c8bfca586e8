// SPDX-License-Identifier: Apache-2.0
/// The conversions between binary32 and the narrow formats, written once in integer operations.
///
/// Generic in `Bits`: `std::uint32_t`, or a pack of 32-bit SIMD lanes with the same operators, `select`, `real_of`,
/// `bits_of` and `to_real`. Formats: OCP 8-bit Floating Point Specification 1.0 and IEEE 754-2008.
#pragma once

#include <cstdint>
#include <type_traits>

#include <halfstep/core/config.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

namespace format {

struct fp32 {
    using bits_type = std::uint32_t;
    static constexpr int exponent_bits = 8, mantissa_bits = 23, bias = 127;
    static constexpr bool has_infinity = true;
    static constexpr std::uint32_t largest_bits = 0x7F7FFFFF;
    static constexpr char const* name = "fp32";
};
struct fp16 {
    using bits_type = std::uint16_t;
    static constexpr int exponent_bits = 5, mantissa_bits = 10, bias = 15;
    static constexpr bool has_infinity = true;
    static constexpr std::uint32_t largest_bits = 0x7BFF;
    static constexpr char const* name = "fp16";
};
struct bf16 {
    using bits_type = std::uint16_t;
    static constexpr int exponent_bits = 8, mantissa_bits = 7, bias = 127;
    static constexpr bool has_infinity = true;
    static constexpr std::uint32_t largest_bits = 0x7F7F;
    static constexpr char const* name = "bf16";
};
struct fp8_e4m3 {
    using bits_type = std::uint8_t;
    static constexpr int exponent_bits = 4, mantissa_bits = 3, bias = 7;
    static constexpr bool has_infinity = false;
    static constexpr std::uint32_t largest_bits = 0x7E;
    static constexpr char const* name = "fp8_e4m3";
};
struct fp8_e5m2 {
    using bits_type = std::uint8_t;
    static constexpr int exponent_bits = 5, mantissa_bits = 2, bias = 15;
    static constexpr bool has_infinity = true;
    static constexpr std::uint32_t largest_bits = 0x7B;
    static constexpr char const* name = "fp8_e5m2";
};

/// All magnitude bits, and the exponent field, of a format.
template <class F>
inline constexpr std::uint32_t magnitude_mask = (std::uint32_t{1} << (F::exponent_bits + F::mantissa_bits)) - 1;
template <class F>
inline constexpr std::uint32_t exponent_mask = magnitude_mask<F> & ~((std::uint32_t{1} << F::mantissa_bits) - 1);

}  // namespace format

namespace detail {

/// The device's own conversions, one instruction each. NaN payloads differ from the portable code's; they are no part
/// of the contract.
#if defined(__CUDA_ARCH__)
template <class F>
inline constexpr bool has_instruction = std::is_same_v<F, format::fp16> || std::is_same_v<F, format::bf16>;
template <class F>
__device__ inline std::uint32_t narrow_by_instruction(std::uint32_t x) {
    std::uint16_t result;
    if constexpr (std::is_same_v<F, format::fp16>)
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(__uint_as_float(x)));
    else
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(__uint_as_float(x)));
    return result;
}
template <class F>
__device__ inline std::uint32_t widen_by_instruction(std::uint32_t x) {
    float result;
    if constexpr (std::is_same_v<F, format::fp16>)
        asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(static_cast<std::uint16_t>(x)));
    else
        asm("mov.b32 %0, {%1, %2};" : "=f"(result) : "h"(std::uint16_t{0}), "h"(static_cast<std::uint16_t>(x)));
    return __float_as_uint(result);
}
#endif

/// 2 to the power `exponent`, for exponents of normal floats.
HS_FUNCTION constexpr float power_of_two(int exponent) {
    return real_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}
}  // namespace detail

/// A format's bits (in the low bits of `Bits`) as the bits of the same value in binary32. Exact; a signaling NaN of
/// fp16 becomes quiet.
template <class F, class Bits>
HS_FUNCTION constexpr Bits widen_bits(Bits x) {
#if defined(__CUDA_ARCH__)
    if constexpr (detail::has_instruction<F> && std::is_same_v<Bits, std::uint32_t>)
        if (!std::is_constant_evaluated()) return detail::widen_by_instruction<F>(x);
#endif
    if constexpr (F::mantissa_bits == 23) {
        return x;
    } else if constexpr (F::exponent_bits == 8) {
        return x << (23 - F::mantissa_bits);
    } else {
        constexpr int shift = 23 - F::mantissa_bits;
        constexpr std::uint32_t magnitude_bits = format::magnitude_mask<F>;
        const Bits magnitude = x & Bits(magnitude_bits);
        const Bits sign = (x & Bits(magnitude_bits + 1)) << (31 - F::exponent_bits - F::mantissa_bits);
        const Bits aligned = magnitude << shift;
        const Bits normal = aligned + Bits(std::uint32_t{127 - F::bias} << 23);
        // A subnormal is an integer times the smallest positive value; the conversion normalises it.
        const Bits subnormal = bits_of(
            to_real(magnitude) * decltype(to_real(magnitude))(detail::power_of_two(1 - F::bias - F::mantissa_bits)));
        Bits result = select(magnitude < Bits(std::uint32_t{1} << F::mantissa_bits), subnormal, normal);
        if constexpr (F::has_infinity)
            result = select(magnitude >= Bits(format::exponent_mask<F>), aligned | Bits(0x7F800000u), result);
        else
            result = select(magnitude > Bits(F::largest_bits), Bits(0x7FC00000u), result);
        // F16C quiets a signaling NaN; so that the bits do not depend on the instruction set, this does too.
        if constexpr (F::mantissa_bits == 10)
            result = select(magnitude > Bits(format::exponent_mask<F>), result | Bits(0x00400000u), result);
        return sign | result;
    }
}

/// Binary32 bits as the nearest value of a format, ties to even, in the low bits of the result.
///
/// Overflow gives infinity where the format has one (fp8_e5m2 from 61440 on), else the largest finite value, also for
/// an infinite input (as PyTorch 2.15 casts to float8_e4m3fn). A NaN stays a quiet NaN of the same sign; 16-bit formats
/// keep its leading payload bits, as F16C does.
template <class F, class Bits>
HS_FUNCTION constexpr Bits narrow_bits(Bits x) {
#if defined(__CUDA_ARCH__)
    if constexpr (detail::has_instruction<F> && std::is_same_v<Bits, std::uint32_t>)
        if (!std::is_constant_evaluated()) return detail::narrow_by_instruction<F>(x);
#endif
    constexpr int shift = 23 - F::mantissa_bits;
    const Bits magnitude = x & Bits(0x7FFFFFFFu);
    if constexpr (F::mantissa_bits == 23) {
        return x;
    } else if constexpr (F::exponent_bits == 8) {
        const Bits rounded = (x + (((x >> shift) & Bits(1u)) + Bits((std::uint32_t{1} << (shift - 1)) - 1))) >> shift;
        const Bits quiet = (x >> shift) | Bits(std::uint32_t{1} << (F::mantissa_bits - 1));
        return select(magnitude > Bits(0x7F800000u), quiet, rounded);
    } else {
        const Bits sign = (x & Bits(0x80000000u)) >> (31 - F::exponent_bits - F::mantissa_bits);
        const Bits rebiased = magnitude - Bits(std::uint32_t{127 - F::bias} << 23);
        const Bits normal =
            (rebiased + (((magnitude >> shift) & Bits(1u)) + Bits((std::uint32_t{1} << (shift - 1)) - 1))) >> shift;
        // Adding a power of two whose last bit weighs one smallest subnormal lets the adder do the rounding.
        constexpr float anchor = detail::power_of_two(1 - F::bias - F::mantissa_bits + 23);
        constexpr std::uint32_t smallest_normal = std::uint32_t{127 + 1 - F::bias} << 23;
        Bits small = magnitude;
        if (std::is_constant_evaluated())  // where clang lets no sum be a NaN
            small = select(magnitude < Bits(smallest_normal), magnitude, Bits(0u));
        const Bits subnormal = bits_of(real_of(small) + decltype(real_of(small))(anchor)) - Bits(bits_of(anchor));
        Bits result = select(magnitude < Bits(smallest_normal), subnormal, normal);
        constexpr std::uint32_t ceiling = F::has_infinity ? format::exponent_mask<F> : F::largest_bits;
        // From the power of two above the largest exponent on, `normal` would wrap into a wrong pattern.
        constexpr std::uint32_t beyond = std::uint32_t{127 + (1 << F::exponent_bits) - F::bias} << 23;
        result = select(magnitude >= Bits(beyond), Bits(ceiling), result);
        result = select(result > Bits(ceiling), Bits(ceiling), result);
        constexpr std::uint32_t quiet_bit = std::uint32_t{1} << (F::mantissa_bits - 1);
        Bits nan = Bits(format::magnitude_mask<F>);
        if constexpr (F::has_infinity && F::mantissa_bits == 10)
            nan = Bits(format::exponent_mask<F> | quiet_bit) | ((magnitude >> shift) & Bits(quiet_bit - 1));
        return sign | select(magnitude > Bits(0x7F800000u), nan, result);
    }
}

/// `narrow_bits` of an infinity or a NaN, in fewer instructions.
template <class F, class Bits>
HS_FUNCTION constexpr Bits narrow_nonfinite_bits(Bits x) {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) return narrow_bits<F>(x);
#endif
    if constexpr (F::exponent_bits == 8) {
        const Bits cut = x >> (23 - F::mantissa_bits);
        const Bits quiet = cut | Bits(std::uint32_t{1} << (F::mantissa_bits - 1));
        return select((x & Bits(0x7FFFFFFFu)) > Bits(0x7F800000u), quiet, cut);
    } else {
        return narrow_bits<F>(x);
    }
}

}  // namespace halfstep
