// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/gradient_clipping.hpp>

namespace halfstep {

/// Gradients as they are. The default.
struct no_clipping {
    using slot = gradient_clipping_slot;

    HS_FUNCTION constexpr double factor(gradient_norms const&) const { return 1; }
};
static_assert(gradient_clipping<no_clipping>);

}  // namespace halfstep
