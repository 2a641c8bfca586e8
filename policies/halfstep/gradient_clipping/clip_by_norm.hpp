// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Bounds the L2 norm of all unscaled gradients of all groups together.
///
/// factor = min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ (PyTorch 2.15); squares are added in
/// fp32, tiles in double. A norm that is not finite skips the step instead of erasing the gradients.
struct clip_by_norm {
    using slot = gradient_clipping_slot;
    static constexpr gradient_statistics needs{.sum_of_squares = true};
    float max_norm = 1;  ///< positive and finite

    HS_FUNCTION constexpr double factor(gradient_norms const& n) const {
        const double bound = static_cast<double>(max_norm) / (n.all + 1e-6);
        return bound < 1 ? bound : 1;
    }
    constexpr void validate() const {
        if (!(max_norm > 0) || is_nonfinite(max_norm))
            throw std::invalid_argument("halfstep: clip_by_norm.max_norm must be positive and finite");
    }
};
static_assert(gradient_clipping<clip_by_norm>);

}  // namespace halfstep
