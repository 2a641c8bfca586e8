// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halfstep/concepts/state_rule.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Whether a moment below the smallest normal fp32 value (2^-126) is kept or stored as zero.
enum class subnormals { flush, keep };

/// Moments in fp32. The default, and then subnormal moments are flushed to zero.
///
/// A parameter whose gradient has been zero for long has moments that decay into the subnormal range, where x86
/// computes 7 to 15 times slower; flushing at the store keeps them out on every backend with the same bits and no
/// processor mode. `fp32_state<subnormals::keep>` keeps them.
template <subnormals Subnormals = subnormals::flush>
struct fp32_state {
    using slot = state_slot;
    using element = float;

    template <class Real>
    HS_FUNCTION constexpr Real load(Real moment) const {
        return moment;
    }
    template <class Real>
    HS_FUNCTION constexpr void store(Real value, Real& moment, noise<Real>) const {
        if constexpr (Subnormals == subnormals::flush)
            moment = select(abs(value) < Real(0x1p-126f), Real(0.0f), value);
        else
            moment = value;
    }
};
static_assert(state_rule<fp32_state<>> && state_rule<fp32_state<subnormals::keep>>);

}  // namespace halfstep
