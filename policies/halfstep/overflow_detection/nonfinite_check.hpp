// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/convert.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Looks at every element of every gradient: one NaN or infinity, and the step is skipped. The default.
struct nonfinite_check {
    using slot = overflow_detection_slot;

    template <class Real>
    HS_FUNCTION static constexpr auto flags(Real gradient) {
        return is_nonfinite(gradient);
    }
    template <class T, class Bits>
    HS_FUNCTION static constexpr auto flags_bits(Bits bits) {
        using traits = dtype_traits<T>;
        constexpr std::uint32_t mask =
            traits::has_infinity ? format::exponent_mask<traits> : format::magnitude_mask<traits>;
        return (bits & Bits(mask)) == Bits(mask);
    }
    HS_FUNCTION constexpr bool overflowed(gradient_report const& r) const { return r.flagged; }
};
static_assert(value_detection<nonfinite_check> && bit_detection<nonfinite_check, fp16>);

}  // namespace halfstep
