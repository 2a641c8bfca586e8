// SPDX-License-Identifier: Apache-2.0
/// The one table of rules between policies. A row is a predicate over the policies that it concerns, and the sentence
/// that a recipe is refused with.
#pragma once

#include <type_traits>

#include <halfstep/compose/choose.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/concepts/storage_rule.hpp>

namespace halfstep {

/// The predicates; true where the policies go together.
namespace compatibility {

template <class Group>
inline constexpr bool narrow_range_gradients = Group::trains && narrow_range_type<typename Group::gradient_type>;

template <class Group, class Storage>
concept storage_is_needed =
    !std::same_as<typename Group::type, float> || storage_rule_for<Storage, float> || !storage_rule<Storage>;
template <class Group, class Scaling, bool AcceptsUnderflow>
concept gradients_stay_in_range = !narrow_range_gradients<Group> || scales_the_loss<Scaling> || AcceptsUnderflow;
template <class Group, class Detection>
concept overflow_is_found = !narrow_range_gradients<Group> || detects_overflow<Detection>;
template <class Group, class Detection, class Clipping>
concept norm_is_guarded = !Group::trains || !needed_statistics<Clipping>.sum_of_squares || detects_overflow<Detection>;
template <class Group, class Detection>
concept overflow_is_visible = !Group::trains || sees_overflow_in<Detection, typename Group::gradient_type>;
template <class Group, class Detection>
concept bits_are_looked_at =
    !Group::trains || overflow_detection_needs::flags_bits_if_it_says_so<Detection, typename Group::gradient_type>;
template <class Scaling, class... Plans>
concept scale_can_back_off =
    !scales_the_loss<Scaling> || ((Plans::group::trains && detects_overflow<typename Plans::detection>) || ...);

/// All rows about one group.
template <class Group, class Detection, class Clipping, class Scaling, bool AcceptsUnderflow>
concept group_fits = gradients_stay_in_range<Group, Scaling, AcceptsUnderflow> && overflow_is_found<Group, Detection> &&
                     norm_is_guarded<Group, Detection, Clipping> && overflow_is_visible<Group, Detection> &&
                     bits_are_looked_at<Group, Detection>;

// What to look for in a list; see choose::first_failing.
struct has_a_storage_that_fits {
    template <class Choice>
    static constexpr bool holds = storage_is_needed<typename Choice::group, typename Choice::storage> &&
                                  storage_rule_for<typename Choice::storage, typename Choice::group::type>;
};
template <class Scaling, class Clipping, bool AcceptsUnderflow>
struct is_group_of_a_step {
    template <class Plan>
    static constexpr bool holds =
        group_fits<typename Plan::group, typename Plan::detection, Clipping, Scaling, AcceptsUnderflow>;
};

}  // namespace compatibility

/// The sentences, in the same order.
namespace diagnose {

template <class Group, class Storage>
consteval auto a_needed_storage() {
    static_assert(
        compatibility::storage_is_needed<Group, Storage>,
        "halfstep: this storage rule is for 16-bit and fp8 parameters; a float group is its own master: in_place");
}

template <class Group, class Detection, class Clipping, class Scaling, bool AcceptsUnderflow>
consteval auto a_group_of_a_step() {
    using namespace compatibility;
    if constexpr (!gradients_stay_in_range<Group, Scaling, AcceptsUnderflow>)
        static_assert(
            gradients_stay_in_range<Group, Scaling, AcceptsUnderflow>,
            "halfstep: fp16 or fp8 gradients without a loss scale lose what is below their smallest value; name a "
            "loss scaling, or accept_underflow{} if that is meant");
    else if constexpr (!overflow_is_found<Group, Detection>)
        static_assert(
            overflow_is_found<Group, Detection>,
            "halfstep: fp16 or fp8 gradients overflow in normal training, and no_check would let inf into the "
            "weights; name nonfinite_check, exponent_check or norm_check");
    else if constexpr (!norm_is_guarded<Group, Detection, Clipping>)
        static_assert(
            norm_is_guarded<Group, Detection, Clipping>,
            "halfstep: norm clipping needs an overflow detector in every group: one NaN makes the norm NaN and "
            "with it every gradient; norm_check is free here");
    else if constexpr (!overflow_is_visible<Group, Detection>)
        static_assert(
            overflow_is_visible<Group, Detection>,
            "halfstep: this overflow detection cannot see overflow in the group's gradient type (fp8_e4m3 has no "
            "infinity, its largest exponent is finite); name nonfinite_check");
    else
        static_assert(
            bits_are_looked_at<Group, Detection>,
            "halfstep: this overflow detection's 'flags_bits' cannot be called as 'bool flags_bits<T>(std::uint32_t "
            "bits) const' for the group's gradient type");
}

template <class Scaling, class... Plans>
consteval auto a_step() {
    using namespace compatibility;
    static_assert(
        scale_can_back_off<Scaling, Plans...>,
        "halfstep: a loss scale needs an overflow detector in at least one group; with no_check it could never "
        "back off");
}

// Each is true when all is well; else the first row that is broken has been named, and it is false.

/// Storage comes before the composition, of which its companion type is a part. `Choice` has a group and its storage.
template <class... Choices>
consteval auto storage_of_groups() {
    using wrong = choose::first_failing<compatibility::has_a_storage_that_fits, type_list<Choices...>>;
    if constexpr (std::is_void_v<wrong>) {
        return true;
    } else if constexpr (!compatibility::storage_is_needed<typename wrong::group, typename wrong::storage>) {
        a_needed_storage<typename wrong::group, typename wrong::storage>();
        return false;
    } else {
        a_storage_rule_for<typename wrong::storage, typename wrong::group::type>();
        return false;
    }
}
template <bool AcceptsUnderflow, class Scaling, class Clipping, class... Plans>
consteval auto compatible_policies() {
    using namespace compatibility;
    using wrong = choose::first_failing<is_group_of_a_step<Scaling, Clipping, AcceptsUnderflow>, type_list<Plans...>>;
    if constexpr (!std::is_void_v<wrong>) {
        a_group_of_a_step<typename wrong::group, typename wrong::detection, Clipping, Scaling, AcceptsUnderflow>();
        return false;
    } else if constexpr (!scale_can_back_off<Scaling, Plans...>) {
        a_step<Scaling, Plans...>();
        return false;
    } else {
        return true;
    }
}

}  // namespace diagnose

}  // namespace halfstep
