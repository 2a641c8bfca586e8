// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/convert.hpp>

namespace halfstep {

/// Finds what nonfinite_check finds, from the stored bits: an exponent field of all ones. No conversion to fp32.
///
/// fp8_e4m3 has no infinity and finite values with all exponent bits set, so it is refused there.
struct exponent_check {
    using slot = overflow_detection_slot;
    template <class T>
    static constexpr bool sees = dtype_traits<T>::has_infinity;

    template <class T, class Bits>
    HS_FUNCTION static constexpr auto flags_bits(Bits bits) {
        constexpr std::uint32_t mask = format::exponent_mask<dtype_traits<T>>;
        return (bits & Bits(mask)) == Bits(mask);
    }
    HS_FUNCTION constexpr bool overflowed(gradient_report const& r) const { return r.flagged; }
};
static_assert(bit_detection<exponent_check, fp16>);

}  // namespace halfstep
