// SPDX-License-Identifier: Apache-2.0
/// Stochastic rounding of binary32 to a narrow format, generic in `Bits` like the conversions.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/core/convert.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// `x` rounded to a neighbour in `F`: away from zero with probability (|x| - below) / (above - below), subnormals of
/// `F` included; exact values stay. `random` supplies its leading bits: as many as the rounding drops, in the subnormal
/// range 16 (so that probabilities there are multiples of 2^-16). A finite value stays finite; inf and NaN
/// narrow as usual.
template <class F, class Bits>
HS_FUNCTION constexpr Bits stochastic_narrow_bits(Bits x, Bits random) {
    constexpr int shift = 23 - F::mantissa_bits;
    const Bits magnitude = x & Bits(0x7FFFFFFFu);
    const Bits sign = (x & Bits(0x80000000u)) >> (31 - F::exponent_bits - F::mantissa_bits);
    const Bits raised = magnitude + (random >> (32 - shift));
    Bits result = raised >> shift;
    if constexpr (F::exponent_bits < 8) {
        result = (raised - Bits(std::uint32_t{127 - F::bias} << 23)) >> shift;
        // |x| in units of the smallest subnormal, with 16 fractional bits: at most 26 bits, so the conversion is exact
        // but for a tail below 2^-16 of a unit.
        constexpr float unit = detail::power_of_two(F::bias + F::mantissa_bits - 1 + 16);
        constexpr std::uint32_t smallest_normal = std::uint32_t{127 + 1 - F::bias} << 23;
        const Bits small = select(magnitude < Bits(smallest_normal), magnitude, Bits(0u));
        const Bits fixed = truncate_to_bits(real_of(small) * decltype(real_of(small))(unit));
        result = select(magnitude < Bits(smallest_normal), (fixed + (random >> 16)) >> 16, result);
    }
    constexpr std::uint32_t largest = F::largest_bits;
    if constexpr (F::exponent_bits < 8) {  // above the format's range `raised` would wrap
        constexpr std::uint32_t beyond = std::uint32_t{127 + (1 << F::exponent_bits) - F::bias} << 23;
        result = select(magnitude >= Bits(beyond), Bits(largest), result);
    }
    result = sign | lesser(result, Bits(largest));
    return select(magnitude >= Bits(0x7F800000u), narrow_nonfinite_bits<F>(x), result);
}

}  // namespace halfstep
