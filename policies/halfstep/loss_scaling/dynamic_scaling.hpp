// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <stdexcept>

#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// Grows after so many clean steps in a row, backs off on every overflow: PyTorch's GradScaler, with a floor and a
/// ceiling.
///
/// Source: `_amp_update_scale_` of PyTorch 2.15. Growth that would be infinite leaves the scale and restarts the count,
/// as there. Otherwise than there, a count that is already past a smaller interval grows at once, and the scale never
/// leaves [floor, ceiling], so that its reciprocal stays finite however long a run overflows.
struct dynamic_scaling {
    using slot = loss_scaling_slot;
    float initial_scale = 0x1p16f;
    float growth_factor = 2;      ///< > 1
    float backoff_factor = 0.5f;  ///< in (0, 1)
    int growth_interval = 2000;   ///< clean steps in a row before the scale grows; >= 1
    float floor = 0x1p-127f;      ///< at least 2^-127, the smallest scale with a finite reciprocal
    float ceiling = std::numeric_limits<float>::max();

    struct state {
        float scale = 0x1p16f;
        int clean_steps = 0;
    };

    HS_FUNCTION constexpr state initial() const { return {initial_scale, 0}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, gradient_report const& r) const {
        if (r.overflowed) {
            const float next = s.scale * backoff_factor;
            s = {next > floor ? next : floor, 0};
        } else if (++s.clean_steps >= growth_interval) {
            const double next = static_cast<double>(s.scale) * static_cast<double>(growth_factor);
            if (next <= static_cast<double>(std::numeric_limits<float>::max()))
                s.scale = next < static_cast<double>(ceiling) ? static_cast<float>(next) : ceiling;
            s.clean_steps = 0;
        }
    }
    constexpr void validate() const {
        if (!(initial_scale > 0) || is_nonfinite(initial_scale))
            throw std::invalid_argument("halfstep: dynamic_scaling.initial_scale must be positive and finite");
        if (!(growth_factor > 1) || is_nonfinite(growth_factor))
            throw std::invalid_argument("halfstep: dynamic_scaling.growth_factor must be greater than 1 and finite");
        if (!(backoff_factor > 0 && backoff_factor < 1))
            throw std::invalid_argument("halfstep: dynamic_scaling.backoff_factor must lie between 0 and 1");
        if (growth_interval < 1)
            throw std::invalid_argument("halfstep: dynamic_scaling.growth_interval must be at least 1");
        if (!(floor >= 0x1p-127f))
            throw std::invalid_argument("halfstep: dynamic_scaling.floor must be at least 2^-127");
        if (!(ceiling >= floor) || is_nonfinite(ceiling))
            throw std::invalid_argument("halfstep: dynamic_scaling.ceiling must be finite and not below the floor");
        if (!(initial_scale >= floor && initial_scale <= ceiling))
            throw std::invalid_argument("halfstep: dynamic_scaling.initial_scale must lie in [floor, ceiling]");
    }
};
static_assert(loss_scaling<dynamic_scaling>);

}  // namespace halfstep
