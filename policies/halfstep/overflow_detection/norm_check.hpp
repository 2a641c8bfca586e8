// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Looks at the sum of squares alone: free beside norm clipping, which needs it anyway.
///
/// A NaN or an infinity anywhere makes the sum non-finite. So do finite fp32 or bf16 gradients whose squares overflow,
/// which are added in fp32 over 4096 neighbours: a norm of these beyond 1.8e19 skips the step too (fp16 gradients
/// cannot reach that).
struct norm_check {
    using slot = overflow_detection_slot;
    static constexpr gradient_statistics needs{.sum_of_squares = true};

    HS_FUNCTION constexpr bool overflowed(gradient_report const& r) const {
        return r.flagged || is_nonfinite(r.sum_of_squares);
    }
};
static_assert(overflow_detection<norm_check>);

}  // namespace halfstep
