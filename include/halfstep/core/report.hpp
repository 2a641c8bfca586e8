// SPDX-License-Identifier: Apache-2.0
/// What one read of the gradients yields, and what is decided from it.
#pragma once

#include <cstdint>
#include <limits>

#include <halfstep/core/config.hpp>
#include <halfstep/core/random.hpp>

namespace halfstep {

/// What the policies of a recipe want to know of the gradients. What nobody asks for is not computed.
struct gradient_statistics {
    bool sum_of_squares = false;
    bool largest_magnitude = false;

    friend HS_FUNCTION constexpr gradient_statistics operator|(gradient_statistics a, gradient_statistics b) {
        return {a.sum_of_squares || b.sum_of_squares, a.largest_magnitude || b.largest_magnitude};
    }
    friend bool operator==(gradient_statistics, gradient_statistics) = default;
};

/// The gradients of one group, or of all, as they are stored: still multiplied by the loss scale.
struct gradient_report {
    bool flagged = false;         ///< an element was flagged by the detector, or an earlier micro-batch overflowed
    bool overflowed = false;      ///< the agreed verdict on the whole step; set before a loss scaling sees the report
    double sum_of_squares = 0;    ///< 0 unless asked for
    float largest_magnitude = 0;  ///< 0 unless asked for; identity of the maximum of magnitudes
    float loss_scale = 1;         ///< the scale that these gradients carry
    float loss = std::numeric_limits<float>::quiet_NaN();  ///< as the caller gave it; NaN when not given
};

/// Norms of the unscaled gradients; NaN or inf when they are not representable.
struct gradient_norms {
    double group = 0;
    double all = 0;
};

/// What a step is called with.
struct step_input {
    float lr;                                              ///< learning rate of this step, finite and >= 0
    float loss = std::numeric_limits<float>::quiet_NaN();  ///< for telemetry and loss-aware scalings; optional
    int micro_batches = 1;                                 ///< gradients are sums over so many; they are divided by it
    /// Where the learning rate lies, in the backend's memory, if it is not `lr`: a captured step reads it at every
    /// replay. With one that is negative or not finite the step is skipped, and the loss scale stays.
    float const* lr_in_memory = nullptr;
    float const* loss_in_memory = nullptr;  ///< the same for the loss
};

/// What a rule computes its scalars of a step from.
struct rule_input {
    float lr;                   ///< of the group: the step's learning rate times the group's factor
    float weight_decay_factor;  ///< of the group; multiplies the rule's own weight decay
    std::int64_t step;          ///< 1 at the first update of the tensor; counts applied steps only
};

/// The verdict on one group and the scalars of its update.
template <class Coefficients>
struct group_decision {
    bool apply = false;
    float gradient_factor = 1;  ///< unscale, clip and micro-batch mean in one factor
    rule_input rule{};
    Coefficients coefficients{};
};

/// How many steps a telemetry ring in device memory holds between two readings.
inline constexpr int record_ring_size = 256;

/// One step as telemetry and the caller see it.
struct step_record {
    std::int64_t step = 0;  ///< 1 at the first call, skipped ones included
    bool applied = false;
    float loss_scale = 1;       ///< that the gradients carried
    float next_loss_scale = 1;  ///< for the next backward pass
    double gradient_norm =
        std::numeric_limits<double>::quiet_NaN();  ///< unscaled, before clipping; NaN if not asked for
    std::int64_t applied_steps = 0;
    std::int64_t skipped_steps = 0;
    float lr = 0;
    float loss = std::numeric_limits<float>::quiet_NaN();

    constexpr explicit operator bool() const { return applied; }
};

}  // namespace halfstep
