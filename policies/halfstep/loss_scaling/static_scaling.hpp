// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// One scale for ever: no growth, no backoff. An overflowing step is still skipped and reported.
struct static_scaling {
    using slot = loss_scaling_slot;
    float loss_scale =
        0x1p16f;  ///< positive and finite, with a finite reciprocal; a power of two makes unscaling exact
    struct state {};

    HS_FUNCTION constexpr float scale(state const&) const { return loss_scale; }
    HS_FUNCTION constexpr void update(state&, gradient_report const&) const {}
    constexpr void validate() const {
        if (!(loss_scale >= 0x1p-127f) || is_nonfinite(loss_scale))
            throw std::invalid_argument("halfstep: static_scaling.loss_scale must be finite and at least 2^-127");
    }
};
static_assert(loss_scaling<static_scaling>);

}  // namespace halfstep
