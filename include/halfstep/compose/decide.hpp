// SPDX-License-Identifier: Apache-2.0
/// Between inspecting and updating: the few scalar instructions that decide a step. The same function on every backend.
#pragma once

#include <limits>

#include <halfstep/compose/composition.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/math.hpp>

namespace halfstep {

/// The verdict on the reports in `control`: any group's detector, or an earlier micro-batch.
template <class Composition>
HS_FUNCTION constexpr bool overflow_found(typename Composition::policy_values const& policies,
                                          typename Composition::control_block const& control) {
    bool overflowed = control.micro_batch_overflowed;
    for_each_index<Composition::group_count>(
        [&](auto g) { overflowed = get<g>(policies.groups).detection.overflowed(control.reports[g]) || overflowed; });
    return overflowed;
}

/// Remembers the verdict on a micro-batch until the next step.
template <class Composition>
HS_FUNCTION constexpr void note_micro_batch(typename Composition::policy_values const& policies,
                                            typename Composition::control_block& control) {
    control.micro_batch_overflowed = overflow_found<Composition>(policies, control);
}

/// Turns the agreed reports into the decision of every group, then lets the loss scaling move.
///
/// Order: the scale that the gradients carry unscales them; a norm is one of unscaled gradients; the scale moves last.
/// A norm that is wanted for clipping and is not finite counts as an overflow.
template <class Composition>
HS_FUNCTION constexpr void decide(typename Composition::policy_values const& policies,
                                  typename Composition::control_block& control, step_input const& in) {
    constexpr bool clips_by_norm = needed_statistics<typename Composition::clipping>.sum_of_squares;
    gradient_report total;
    for (auto const& report : control.reports) {
        total.flagged = total.flagged || report.flagged;
        total.sum_of_squares += report.sum_of_squares;
        if (report.largest_magnitude > total.largest_magnitude) total.largest_magnitude = report.largest_magnitude;
    }
    const double scaled_norm = halfstep::sqrt(total.sum_of_squares);
    const float scale = policies.scaling.scale(control.scaling);
    const double unscale = 1 / (static_cast<double>(scale) * in.micro_batches);
    const double norm = multiply(scaled_norm, unscale);
    total.loss_scale = scale;
    total.loss = in.loss_in_memory == nullptr ? in.loss : *in.loss_in_memory;
    total.overflowed = overflow_found<Composition>(policies, control) || (clips_by_norm && is_nonfinite(norm));

    // A rate of the call was checked by the host; one in memory can only be met here, and no parameter shall meet it.
    const float lr = in.lr_in_memory == nullptr ? in.lr : *in.lr_in_memory;
    const bool usable_lr = lr >= 0 && !is_nonfinite(lr);
    const bool apply = usable_lr && !total.overflowed;

    // In memory before what follows divides: a device has few registers for what lives through a division.
    control.last.gradient_norm = Composition::knows_norm ? norm : std::numeric_limits<double>::quiet_NaN();
    ++control.steps;
    ++(apply ? control.applied_steps : control.skipped_steps);
    for_each_index<Composition::group_count>([&](auto g) {
        auto const& group = get<g>(policies.groups);
        auto& decision = get<g>(control.decisions);
        decision.apply = apply;
        if (!apply) return;
        const gradient_norms norms{multiply(halfstep::sqrt(control.reports[g].sum_of_squares), unscale), norm};
        decision.gradient_factor = static_cast<float>(unscale * static_cast<double>(policies.clipping.factor(norms)));
        decision.rule = {lr * group.group.lr_factor, group.group.weight_decay_factor, control.applied_steps};
        decision.coefficients = group.rule.prepare(decision.rule);
    });

    control.micro_batch_overflowed = false;
    if (usable_lr) policies.scaling.update(control.scaling, total);
    control.last = {control.steps,
                    apply,
                    scale,
                    policies.scaling.scale(control.scaling),
                    control.last.gradient_norm,
                    control.applied_steps,
                    control.skipped_steps,
                    lr,
                    total.loss};
}

}  // namespace halfstep
