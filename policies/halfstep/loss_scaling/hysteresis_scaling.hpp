// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <stdexcept>

#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// When spent hysteresis comes back: with each growth of the scale (DeepSpeed's default, Megatron), or with every clean
/// step (DeepSpeed's `consecutive_hysteresis`, Apex `update_scale_hysteresis`).
enum class refill { on_growth, on_clean_step };

/// How clean steps are counted: the scale grows when so many came in a row (PyTorch, Megatron, Apex), or as DeepSpeed
/// does, which needs one more after the start and after an overflow.
enum class growth_count { clean_steps, deepspeed };

/// What happens when an overflow finds the scale at its floor. The step is skipped in any case.
enum class at_floor { hold, warn, raise };

/// Dynamic scaling that forgives: `hysteresis - 1` overflows are skipped without a cut, every further one backs off.
///
/// Source: DynamicLossScaler of DeepSpeed 0.19.8, DynamicGradScaler of Megatron Core, `update_scale_hysteresis` of
/// Apex; the state machines of all four variants are static_asserts in tests/scaling. Otherwise than DeepSpeed's, a
/// hysteresis below 1 is refused, the floor may be a fraction, and growth stops at the ceiling instead of reaching
/// infinity.
template <refill Refill = refill::on_growth, growth_count Count = growth_count::clean_steps>
struct hysteresis_scaling {
    using slot = loss_scaling_slot;
    static constexpr int first_count = Count == growth_count::deepspeed ? -1 : 0;
    float initial_scale = 0x1p16f;
    float growth_factor = 2;      ///< > 1
    float backoff_factor = 0.5f;  ///< in (0, 1)
    int growth_interval = 1000;   ///< >= 1
    int hysteresis = 2;           ///< overflows until the first cut; >= 1
    float floor = 1;              ///< at least 2^-127
    float ceiling = std::numeric_limits<float>::max();
    at_floor floor_action = at_floor::hold;

    struct state {
        float scale = 0x1p16f;
        int clean_steps = 0;
        int credit = 2;  ///< overflows left until a cut, at least 1
        bool floor_reached = false;
    };

    HS_FUNCTION constexpr state initial() const { return {initial_scale, first_count, hysteresis, false}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, gradient_report const& r) const {
        s.floor_reached = false;
        if (r.overflowed) {
            s.clean_steps = first_count;
            if (s.credit > 1) {
                --s.credit;
                return;
            }
            s.floor_reached = s.scale <= floor;
            const float next = s.scale * backoff_factor;
            s.scale = next > floor ? next : floor;
            return;
        }
        if constexpr (Refill == refill::on_clean_step) s.credit = hysteresis;
        if (++s.clean_steps < growth_interval) return;
        s.clean_steps = 0;
        s.credit = hysteresis;
        const double next = static_cast<double>(s.scale) * static_cast<double>(growth_factor);
        if (next <= static_cast<double>(std::numeric_limits<float>::max()))
            s.scale = next < static_cast<double>(ceiling) ? static_cast<float>(next) : ceiling;
    }
    HS_FUNCTION constexpr scaling_event event(state const& s) const {
        if (!s.floor_reached || floor_action == at_floor::hold) return scaling_event::none;
        return floor_action == at_floor::raise ? scaling_event::raise_at_floor : scaling_event::warn_at_floor;
    }
    constexpr void validate() const {
        if (!(initial_scale > 0) || is_nonfinite(initial_scale))
            throw std::invalid_argument("halfstep: hysteresis_scaling.initial_scale must be positive and finite");
        if (!(growth_factor > 1) || is_nonfinite(growth_factor))
            throw std::invalid_argument("halfstep: hysteresis_scaling.growth_factor must be greater than 1 and finite");
        if (!(backoff_factor > 0 && backoff_factor < 1))
            throw std::invalid_argument("halfstep: hysteresis_scaling.backoff_factor must lie between 0 and 1");
        if (growth_interval < 1)
            throw std::invalid_argument("halfstep: hysteresis_scaling.growth_interval must be at least 1");
        if (hysteresis < 1) throw std::invalid_argument("halfstep: hysteresis_scaling.hysteresis must be at least 1");
        if (!(floor >= 0x1p-127f))
            throw std::invalid_argument("halfstep: hysteresis_scaling.floor must be at least 2^-127");
        if (!(ceiling >= floor) || is_nonfinite(ceiling))
            throw std::invalid_argument("halfstep: hysteresis_scaling.ceiling must be finite and not below the floor");
        if (!(initial_scale >= floor && initial_scale <= ceiling))
            throw std::invalid_argument("halfstep: hysteresis_scaling.initial_scale must lie in [floor, ceiling]");
    }
};
static_assert(loss_scaling<hysteresis_scaling<>>);
static_assert(loss_scaling<hysteresis_scaling<refill::on_clean_step, growth_count::deepspeed>>);

}  // namespace halfstep
