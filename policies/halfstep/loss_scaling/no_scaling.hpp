// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/loss_scaling.hpp>

namespace halfstep {

/// The loss as it is. The default where no gradient is fp16 or fp8. It says nothing about detection: a NaN is still
/// found.
struct no_scaling {
    using slot = loss_scaling_slot;
    static constexpr bool scales = false;
    struct state {};

    HS_FUNCTION constexpr float scale(state const&) const { return 1; }
    HS_FUNCTION constexpr void update(state&, gradient_report const&) const {}
};
static_assert(loss_scaling<no_scaling>);

/// Says that fp16 or fp8 gradients without a loss scale are meant: small ones become zero. Named in a recipe beside
/// no_scaling.
struct accept_underflow {
    using slot = consent_slot;
};

}  // namespace halfstep
