// SPDX-License-Identifier: Apache-2.0
/// Policies of one's own, one or more a slot, as somebody who uses the library would write them: outside its namespace,
/// with its public headers.
#pragma once

#include <cmath>
#include <cstdint>
#include <halfstep/halfstep.hpp>
#include <stdexcept>
#include <vector>

namespace lab {

namespace hs = halfstep;

// ---- parameter groups

/// Floats whose gradients arrive as bf16, at half the learning rate.
struct table {
    using slot = hs::parameter_group_slot;
    struct tag {};
    using type = float;
    using gradient_type = hs::bf16;
    static constexpr bool trains = true;
    float lr_factor = 0.5f;
    float weight_decay_factor = 1;
};

// ---- update rules

/// Moves by the learning rate against the sign of a running mean. Written for any value type, so it runs on lanes.
struct sign_descent {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 1;
    float memory = 0.75f;

    struct coefficients {
        float memory, fresh, lr;
    };
    HS_FUNCTION constexpr coefficients prepare(hs::rule_input const& in) const { return {memory, 1 - memory, in.lr}; }
    template <class Real>
    HS_FUNCTION constexpr void update(coefficients const& c, Real& parameter, Real gradient,
                                      hs::values<Real, 1>& mean) const {
        using hs::fma, hs::select;
        mean[0] = fma(Real(c.memory), mean[0], Real(c.fresh) * gradient);
        const Real zero(0.0f);
        parameter = parameter + select(mean[0] > zero, Real(-c.lr), select(mean[0] < zero, Real(c.lr), zero));
    }
};

/// The same, written as one would without knowing of lanes: plain floats and branches.
struct plain_sign_descent {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 1;
    float memory = 0.75f;

    using coefficients = sign_descent::coefficients;
    coefficients prepare(hs::rule_input const& in) const { return {memory, 1 - memory, in.lr}; }
    void update(coefficients const& c, float& parameter, float gradient, hs::values<float, 1>& mean) const {
        mean[0] = std::fma(c.memory, mean[0], c.fresh * gradient);
        if (mean[0] > 0)
            parameter -= c.lr;
        else if (mean[0] < 0)
            parameter += c.lr;
    }
};

/// Plain floats and no moment at all; remembers which step it was told.
struct plain_descent {
    using slot = hs::update_rule_slot;
    static constexpr int moments = 0;
    struct coefficients {
        float minus_lr;
    };
    coefficients prepare(hs::rule_input const& in) const { return {-in.lr / static_cast<float>(in.step)}; }
    void update(coefficients const& c, float& parameter, float gradient, hs::values<float, 0>&) const {
        parameter = std::fma(c.minus_lr, gradient, parameter);
    }
};

// ---- loss scaling

/// Backs off to a quarter, climbs by a half, and calls for help when it falls below a limit.
struct climbing_scaling {
    using slot = hs::loss_scaling_slot;
    float start = 256;
    float limit = 1;
    struct state {
        float scale;
        bool low;
    };
    HS_FUNCTION constexpr state initial() const { return {start, false}; }
    HS_FUNCTION constexpr float scale(state const& s) const { return s.scale; }
    HS_FUNCTION constexpr void update(state& s, hs::gradient_report const& r) const {
        s.scale = r.overflowed ? s.scale / 4 : s.scale * 1.5f;
        s.low = s.scale < limit;
    }
    HS_FUNCTION constexpr hs::scaling_event event(state const& s) const {
        return s.low ? hs::scaling_event::raise_at_floor : hs::scaling_event::none;
    }
    constexpr void validate() const {
        if (!(start > 0)) throw std::invalid_argument("lab: climbing_scaling.start must be positive");
    }
};

// ---- overflow detection

/// Beyond a bound counts as an overflow, and so does a NaN. On lanes.
struct bound_check {
    using slot = hs::overflow_detection_slot;
    float bound = 100;
    template <class Real>
    HS_FUNCTION constexpr auto flags(Real gradient) const {
        using hs::abs;
        return !(abs(gradient) <= Real(bound));
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// The same for plain floats.
struct plain_bound_check {
    using slot = hs::overflow_detection_slot;
    float bound = 100;
    bool flags(float gradient) const { return !(std::fabs(gradient) <= bound); }
    bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// Flags one bit pattern: minus zero. On lanes.
struct minus_zero_check {
    using slot = hs::overflow_detection_slot;
    template <class T, class Bits>
    HS_FUNCTION constexpr auto flags_bits(Bits bits) const {
        return bits == Bits(std::uint32_t{1} << (8 * sizeof(T) - 1));
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// The same for plain integers.
struct plain_minus_zero_check {
    using slot = hs::overflow_detection_slot;
    template <class T>
    bool flags_bits(std::uint32_t bits) const {
        return bits == std::uint32_t{1} << (8 * sizeof(T) - 1);
    }
    bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// Flags zero, which is what fills the lanes beyond the end of a tensor.
struct zero_check {
    using slot = hs::overflow_detection_slot;
    template <class Real>
    HS_FUNCTION constexpr auto flags(Real gradient) const {
        return gradient == Real(0.0f);
    }
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const { return r.flagged; }
};
/// Looks at the report alone: the largest magnitude, which it asks for, and the sum of squares for the sake of NaNs.
struct peak_check {
    using slot = hs::overflow_detection_slot;
    static constexpr hs::gradient_statistics needs{.sum_of_squares = true, .largest_magnitude = true};
    float bound = 100;
    HS_FUNCTION constexpr bool overflowed(hs::gradient_report const& r) const {
        return !(r.largest_magnitude <= bound) || hs::is_nonfinite(r.sum_of_squares);
    }
};

// ---- gradient clipping

/// One factor a group, from the group's own norm.
struct clip_own_norm {
    using slot = hs::gradient_clipping_slot;
    static constexpr hs::gradient_statistics needs{.sum_of_squares = true};
    float max_norm = 1;
    HS_FUNCTION constexpr double factor(hs::gradient_norms const& n) const {
        return n.group > static_cast<double>(max_norm) ? static_cast<double>(max_norm) / n.group : 1;
    }
};
/// Element by element, for plain floats: g / (1 + |g|).
struct soft_clip {
    using slot = hs::gradient_clipping_slot;
    float factor(hs::gradient_norms const&) const { return 1; }
    float clip(float g) const { return g / (1 + std::fabs(g)); }
};

// ---- storage

/// Two narrow numbers whose sum is the value: half of it, and what is missing then. On lanes.
struct two_parts {
    using slot = hs::storage_slot;
    template <class T>
    using companion = T;
    template <class T>
    HS_FUNCTION constexpr T initial(T) const {
        return T(0.0f);
    }
    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored parameter, Stored rest) const {
        using hs::widen;
        return widen(parameter) + widen(rest);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& parameter, Stored& rest, hs::noise<Real>) const {
        using hs::round_into, hs::widen;
        round_into(parameter, value * Real(0.5f));
        round_into(rest, value - widen(parameter));
    }
};
/// For bf16 and plain floats only: rounds towards zero.
struct chopped {
    using slot = hs::storage_slot;
    template <class T>
    using companion = hs::no_companion;
    hs::no_companion initial(hs::bf16) const { return {}; }
    float load(hs::bf16 parameter, hs::no_companion) const { return hs::widen(parameter); }
    void store(float value, hs::bf16& parameter, hs::no_companion&, hs::noise<float>) const {
        parameter = hs::bf16::from_bits(static_cast<std::uint16_t>(hs::bits_of(value) >> 16));
    }
};

// ---- state

/// Moments in bf16, for plain floats.
struct plain_bf16_state {
    using slot = hs::state_slot;
    using element = hs::bf16;
    float load(hs::bf16 moment) const { return hs::widen(moment); }
    void store(float value, hs::bf16& moment, hs::noise<float>) const { moment = hs::narrow<hs::bf16>(value); }
};
/// The same on lanes.
struct bf16_state {
    using slot = hs::state_slot;
    using element = hs::bf16;
    template <class Stored>
    HS_FUNCTION constexpr auto load(Stored moment) const {
        using hs::widen;
        return widen(moment);
    }
    template <class Real, class Stored>
    HS_FUNCTION constexpr void store(Real value, Stored& moment, hs::noise<Real>) const {
        using hs::round_into;
        round_into(moment, value);
    }
};
/// In a type of its own: the value in sixteenths.
struct sixteenths_state {
    using slot = hs::state_slot;
    struct element {
        std::int16_t count;
    };
    float load(element moment) const { return static_cast<float>(moment.count) / 16; }
    void store(float value, element& moment, hs::noise<float>) const {
        moment.count = static_cast<std::int16_t>(std::lrint(value * 16));
    }
};

// ---- telemetry

/// Keeps every record in a vector of the caller's.
struct diary {
    using slot = hs::telemetry_slot;
    std::vector<hs::step_record>* pages = nullptr;
    class recorder {
      public:
        explicit recorder(diary const& d) : pages_(d.pages) {}
        void record(hs::step_record const& r) {
            if (pages_ != nullptr) pages_->push_back(r);
        }

      private:
        std::vector<hs::step_record>* pages_;
    };
};

static_assert(hs::parameter_group<table>);
static_assert(hs::elementwise_rule<sign_descent> && hs::elementwise_rule<plain_sign_descent>);
static_assert(hs::elementwise_rule<plain_descent>);
static_assert(hs::loss_scaling<climbing_scaling>);
static_assert(hs::value_detection<bound_check> && hs::value_detection<plain_bound_check>);
static_assert(hs::bit_detection<minus_zero_check, hs::fp16> && hs::bit_detection<plain_minus_zero_check, hs::fp16>);
static_assert(hs::overflow_detection<peak_check> && hs::overflow_detection<zero_check>);
static_assert(hs::gradient_clipping<clip_own_norm> && hs::gradient_clipping<soft_clip>);
static_assert(hs::storage_rule_for<two_parts, hs::fp16> && hs::storage_rule_for<two_parts, hs::bf16>);
static_assert(hs::storage_rule_for<chopped, hs::bf16> && !hs::storage_rule_for<chopped, hs::fp16>);
static_assert(hs::state_rule<plain_bf16_state> && hs::state_rule<bf16_state> && hs::state_rule<sixteenths_state>);
static_assert(hs::telemetry<diary>);

}  // namespace lab
