// SPDX-License-Identifier: Apache-2.0
/// The values of a step's policies: the recipe's, then those given at construction, validated.
#pragma once

#include <type_traits>

#include <halfstep/compose/composition.hpp>
#include <halfstep/compose/on.hpp>
#include <halfstep/compose/recipe.hpp>

namespace halfstep {

template <class Composition>
struct step_values {
    typename Composition::policy_values policies;
    typename Composition::sharding sharding;
    typename Composition::telemetry telemetry;

    /// Throws what a policy's `validate` throws.
    template <class Recipe, class... Arguments>
    static step_values of(Recipe, Arguments const&... arguments) {
        step_values values{initial_values<Recipe>(), Recipe::template value<typename Composition::sharding>(),
                           Recipe::template value<typename Composition::telemetry>()};
        (values.apply(arguments), ...);
        // After the others: what is said of one group holds, in whatever order it is said.
        (values.apply_in_group(arguments), ...);
        values.validate_all();
        return values;
    }

  private:
    template <class Recipe>
    static constexpr typename Composition::policy_values initial_values() {
        typename Composition::policy_values v;  // every member is assigned below; clang 16 crashes on v{}
        v.scaling = Recipe::template value<typename Composition::scaling>();
        v.clipping = Recipe::template value<typename Composition::clipping>();
        for_each_index<Composition::group_count>([&](auto g) {
            using plan = typename Composition::template plan<g>;
            auto& group = get<g>(v.groups);
            group.group = Recipe::template value<typename plan::group>();
            group.rule = Recipe::template group_value<typename plan::rule, typename plan::tag>();
            group.storage = Recipe::template group_value<typename plan::storage, typename plan::tag>();
            group.state = Recipe::template group_value<typename plan::state, typename plan::tag>();
            group.detection = Recipe::template group_value<typename plan::detection, typename plan::tag>();
        });
        return v;
    }

    template <class P, class Value>
    static void assign([[maybe_unused]] P& member, [[maybe_unused]] Value const& value) {
        if constexpr (std::is_same_v<P, Value>) member = value;
    }
    template <class Group, class Value>
    static void assign_in(Group& group, Value const& value) {
        assign(group.group, value);
        assign(group.rule, value);
        assign(group.storage, value);
        assign(group.state, value);
        assign(group.detection, value);
    }
    template <class Argument>
    void apply(Argument const& argument) {
        if constexpr (!well_formed::of_the_machine<Argument>) {
            static_assert(names_policy<Argument>,
                          "halfstep: a value given at construction must be of a policy type that the recipe holds (a "
                          "type selects code, a value is data), a backend or a communicator");
            assign(policies.scaling, argument);
            assign(policies.clipping, argument);
            assign(sharding, argument);
            assign(telemetry, argument);
            for_each_index<Composition::group_count>([&](auto g) { assign_in(get<g>(policies.groups), argument); });
        }
    }
    template <class Tag, class Policy>
    void apply(group_override<Tag, Policy> const&) {}
    template <class Argument>
    void apply_in_group(Argument const&) {}
    template <class Tag, class Policy>
    void apply_in_group(group_override<Tag, Policy> const& argument) {
        constexpr std::size_t g = group_index<Composition, Tag>();
        if constexpr (g < Composition::group_count) {
            using values = typename Composition::template plan<g>::values;
            static_assert(holds<values, Policy>,
                          "halfstep: in_group<tag>(policy): the recipe gives that group no policy of this type");
            assign_in(get<g>(policies.groups), argument.policy);
        }
    }
    template <class Values, class P>
    static constexpr bool holds =
        std::is_same_v<decltype(Values::group), P> || std::is_same_v<decltype(Values::rule), P> ||
        std::is_same_v<decltype(Values::storage), P> || std::is_same_v<decltype(Values::state), P> ||
        std::is_same_v<decltype(Values::detection), P>;
    template <class... Plans>
    struct values_of {
        template <class P>
        static constexpr bool any = (holds<typename Plans::values, P> || ...);
    };
    template <class P>
    static constexpr bool names_policy =
        std::is_same_v<P, typename Composition::scaling> || std::is_same_v<P, typename Composition::clipping> ||
        std::is_same_v<P, typename Composition::sharding> || std::is_same_v<P, typename Composition::telemetry> ||
        Composition::template with_plans<values_of>::template any<P>;

    void validate_all() const {
        detail::validate(policies.scaling);
        detail::validate(policies.clipping);
        detail::validate(sharding);
        detail::validate(telemetry);
        for_each_index<Composition::group_count>([&](auto g) {
            auto const& group = get<g>(policies.groups);
            detail::validate(group.group);
            detail::validate(group.rule);
            detail::validate(group.storage);
            detail::validate(group.state);
            detail::validate(group.detection);
        });
    }
};

}  // namespace halfstep
