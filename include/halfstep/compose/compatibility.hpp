// SPDX-License-Identifier: Apache-2.0
/// The one table of rules between policies. A row is a predicate over the composition and the sentence it is refused with.
#pragma once

#include <halfstep/compose/composition.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

namespace compatibility {

template <class Plan>
inline constexpr bool narrow_range_gradients = Plan::group::trains && narrow_range_type<typename Plan::gradient_type>;

template <class Composition>
struct facts;
template <class Scaling, class Clipping, class Sharding, class Telemetry, class... Plans>
struct facts<composition<Scaling, Clipping, Sharding, Telemetry, Plans...>> {
    static constexpr bool scales = scales_the_loss<Scaling>;
    static constexpr bool clips_by_norm = needed_statistics<Clipping>.sum_of_squares;
    static constexpr bool narrow_range = (narrow_range_gradients<Plans> || ...);
    static constexpr bool all_narrow_range_detected =
        ((!narrow_range_gradients<Plans> || detects_overflow<typename Plans::detection>) && ...);
    static constexpr bool all_detected = ((!Plans::group::trains || detects_overflow<typename Plans::detection>) && ...);
    static constexpr bool some_detected = ((Plans::group::trains && detects_overflow<typename Plans::detection>) || ...);
    static constexpr bool all_seen = (sees_overflow_in<typename Plans::detection, typename Plans::gradient_type> && ...);
};

template <class Plan>
concept storage_fits_the_dtype = storage_rule_for<typename Plan::storage, typename Plan::type>;
template <class Plan>
concept narrow_storage_on_float = std::same_as<typename Plan::type, float> && !storage_fits_the_dtype<Plan> &&
                                  storage_rule_for<typename Plan::storage, bf16>;

}  // namespace compatibility

namespace diagnose {

/// Storage comes before the composition: its companion type is part of it.
template <class Plan>
consteval bool storage_fits() {
    using namespace compatibility;
    if constexpr (narrow_storage_on_float<Plan>) {
        static_assert(!narrow_storage_on_float<Plan>,
                      "halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place");
        return false;
    } else if constexpr (!storage_fits_the_dtype<Plan>) {
        a_storage_rule_for<typename Plan::storage, typename Plan::type>();
        return false;
    } else {
        return true;
    }
}

/// True when the policies of a composition go together; else it has spoken and is false.
template <class Composition, bool AcceptsUnderflow>
consteval bool policies_are_compatible() {
    using facts = compatibility::facts<Composition>;
    if constexpr (facts::narrow_range && !facts::scales && !AcceptsUnderflow) {
        static_assert(facts::scales,
                      "halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a "
                      "loss scaling, or accept_underflow{} if that is meant");
        return false;
    } else if constexpr (!facts::all_narrow_range_detected) {
        static_assert(facts::all_narrow_range_detected,
                      "halfstep: fp16 or fp8 gradients overflow in normal training: no_check would let inf into the "
                      "weights; name nonfinite_check, exponent_check or norm_check");
        return false;
    } else if constexpr (facts::clips_by_norm && !facts::all_detected) {
        static_assert(facts::all_detected,
                      "halfstep: norm clipping needs an overflow detector in every group: one NaN makes the norm NaN and "
                      "with it every gradient; norm_check is free here");
        return false;
    } else if constexpr (facts::scales && !facts::some_detected) {
        static_assert(facts::some_detected,
                      "halfstep: a loss scale needs an overflow detector in at least one group; with no_check it could "
                      "never back off");
        return false;
    } else if constexpr (!facts::all_seen) {
        static_assert(facts::all_seen,
                      "halfstep: this overflow detector cannot see overflow in the group's gradient type (exponent_check: "
                      "fp8_e4m3 has no infinity, its largest exponent is finite); use nonfinite_check");
        return false;
    } else {
        return true;
    }
}

}  // namespace diagnose

}  // namespace halfstep
