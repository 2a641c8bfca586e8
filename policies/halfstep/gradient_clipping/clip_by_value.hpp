// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Clamps every unscaled gradient to [-max_value, max_value], as torch.nn.utils.clip_grad_value_. A NaN stays a NaN.
struct clip_by_value {
    using slot = gradient_clipping_slot;
    float max_value = 1;  ///< positive and finite

    HS_FUNCTION constexpr double factor(gradient_norms const&) const { return 1; }
    template <class Real>
    HS_FUNCTION constexpr Real clip(Real gradient) const {
        return greater(Real(-max_value), lesser(Real(max_value), gradient));
    }
    constexpr void validate() const {
        if (!(max_value > 0) || is_nonfinite(max_value))
            throw std::invalid_argument("halfstep: clip_by_value.max_value must be positive and finite");
    }
};
static_assert(gradient_clipping<clip_by_value>);

}  // namespace halfstep
