// SPDX-License-Identifier: Apache-2.0
/// What a recipe comes down to: one policy type a slot and group, without the numbers. Recipes that differ only in
/// numbers, or in the order of their policies, have the same composition.
#pragma once

#include <cstddef>
#include <cstdint>

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/core/pack.hpp>
#include <halfstep/core/report.hpp>

namespace halfstep {

/// The policies of one group.
template <class Group, class Rule, class Storage, class State, class Detection>
struct group_plan {
    using group = Group;
    using tag = typename Group::tag;
    using type = typename Group::type;
    using gradient_type = typename Group::gradient_type;
    using rule = Rule;
    using storage = Storage;
    using state = State;
    using detection = Detection;
    using layout = element_layout<type, gradient_type, Rule, Storage, State>;

    /// Bytes a parameter that the step keeps beside the parameter itself.
    static constexpr std::size_t state_bytes = [] {
        std::size_t bytes = Rule::moments * sizeof(typename State::element);
        if constexpr (!std::is_empty_v<typename layout::companion>) bytes += sizeof(typename layout::companion);
        return Group::trains ? bytes : 0;
    }();

    /// Their values. An empty policy takes no byte. The last member is never empty: nvcc 13.0 lays out trailing empty
    /// members in other places for the device than for the host.
    struct values {
        [[no_unique_address]] Storage storage;
        [[no_unique_address]] State state;
        [[no_unique_address]] Detection detection;
        [[no_unique_address]] Rule rule;
        Group group;
    };
};

/// All policies of a recipe.
template <class Scaling, class Clipping, class Sharding, class Telemetry, class... Plans>
struct composition {
    using scaling = Scaling;
    using clipping = Clipping;
    using sharding = Sharding;
    using telemetry = Telemetry;
    static constexpr std::size_t group_count = sizeof...(Plans);
    template <template <class...> class F>
    using with_plans = F<Plans...>;
    template <std::size_t I>
    using plan = type_at<I, Plans...>;
    template <template <class> class F>
    using pack_of = pack<F<Plans>...>;

    /// What inspecting the gradients of group `I` has to find out, for its detection and for the clipping.
    template <std::size_t I>
    struct inspection {
        using detection = typename plan<I>::detection;
        static constexpr gradient_statistics wanted = needed_statistics<detection> | needed_statistics<Clipping>;
        /// False where nobody looks at elements.
        static constexpr bool looks =
            plan<I>::group::trains && inspects_elements<typename plan<I>::gradient_type, detection, wanted>;
    };

    /// A step finds the norm of all gradients out; that of some groups would pass for it.
    static constexpr bool knows_norm =
        needed_statistics<Clipping>.sum_of_squares ||
        ((!Plans::group::trains || needed_statistics<typename Plans::detection>.sum_of_squares) && ...);

    /// Values that the loops need, wherever they run. The order is as above.
    struct policy_values {
        [[no_unique_address]] Scaling scaling;
        [[no_unique_address]] Clipping clipping;
        pack<typename Plans::values...> groups;
    };

    /// The state of the step as a whole; it lives where the gradients live, and is trivially copyable.
    struct control_block {
        [[no_unique_address]] typename Scaling::state scaling;
        std::int64_t steps = 0;
        std::int64_t applied_steps = 0;
        std::int64_t skipped_steps = 0;
        bool micro_batch_overflowed = false;  ///< since the last step
        unsigned finished_blocks = 0;         ///< of an inspection on a device, for its last block
        gradient_report reports[group_count] = {};
        pack<group_decision<typename Plans::rule::coefficients>...> decisions{};
        step_record last{};
    };
};

namespace detail {
template <class... Plans>
struct tags_of {
    template <class Tag>
    static constexpr std::size_t find() {
        std::size_t index = 0;
        (void)((std::is_same_v<Tag, typename Plans::tag> || (++index, false)) || ...);
        return index;
    }
};
}  // namespace detail

/// Place of the group tagged `Tag`; group_count, with a sentence, where there is none.
template <class Composition, class Tag>
constexpr std::size_t group_index() {
    constexpr std::size_t g = Composition::template with_plans<detail::tags_of>::template find<Tag>();
    static_assert(g < Composition::group_count, "halfstep: this recipe has no parameter group with that tag");
    return g;
}

}  // namespace halfstep
