// SPDX-License-Identifier: Apache-2.0
/// Refuses what a device cannot run. nvcc compiles a call of a host function from a policy without a word, and the
/// kernel goes wrong.
///
/// A function that the compiler can run itself calls nothing that only the host has: each function of a policy is tried
/// so, once, with the policy's default values.
#pragma once

#include <type_traits>

#include <halfstep/concepts/communicator.hpp>
#include <halfstep/concepts/gradient_clipping.hpp>
#include <halfstep/concepts/loss_scaling.hpp>
#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/pack.hpp>
#include <halfstep/element_update.hpp>

namespace halfstep::cuda_detail {

template <class Scaling>
constexpr bool try_scaling() {
    const Scaling scaling{};
    auto state = initial_state(scaling);
    gradient_report report;
    scaling.update(state, report);
    report.overflowed = true;
    scaling.update(state, report);
    (void)scaling.scale(state);
    return true;
}
template <class Clipping>
constexpr bool try_clipping() {
    const Clipping clipping{};
    (void)clipping.factor(gradient_norms{1, 1});
    if constexpr (clips_elements<Clipping>) (void)clipping.clip(1.0f);
    return true;
}
template <class Detection, class Gradient>
constexpr bool try_detection() {
    const Detection detection{};
    if constexpr (value_detection<Detection>) (void)detection.flags(1.0f);
    if constexpr (bit_detection<Detection, Gradient>) (void)detection.template flags_bits<Gradient>(std::uint32_t{1});
    (void)detection.overflowed(gradient_report{});
    return true;
}
template <class Layout>
constexpr bool try_update() {
    const element_policies<typename Layout::storage, typename Layout::state, no_companion, typename Layout::rule>
        policies{};
    typename Layout::type parameter(1.0f);
    auto companion = policies.storage.initial(parameter);
    values<typename Layout::moment, Layout::moments> moment{};
    update_element(policies, policies.rule.prepare(rule_input{0.1f, 1, 1}), 1.0f, 1.0f, parameter, companion, moment,
                   noise<float>{});
    return true;
}

template <class Scaling>
concept constant_scaling = requires { typename std::bool_constant<try_scaling<Scaling>()>; };
template <class Clipping>
concept constant_clipping = requires { typename std::bool_constant<try_clipping<Clipping>()>; };
template <class Detection, class Gradient>
concept constant_detection = requires { typename std::bool_constant<try_detection<Detection, Gradient>()>; };
template <class Layout>
concept constant_update = requires { typename std::bool_constant<try_update<Layout>()>; };

template <class Plan>
consteval void require_group_runs() {
    if constexpr (Plan::group::trains) {
        constexpr bool detects = constant_detection<decltype(Plan::values::detection), typename Plan::gradient_type>;
        constexpr bool updates = constant_update<typename Plan::layout>;
        static_assert(
            detects,
            "halfstep: an overflow detection calls what only the host has; on CUDA its functions are constexpr");
        static_assert(!detects || updates,
                      "halfstep: an update rule, storage or state calls what only the host has; on CUDA their "
                      "functions are constexpr");
    }
}

/// Says in a sentence what keeps a composition off the device; with a communicator, what keeps it off a stream.
template <class Composition, class Communicator>
consteval void require_runs() {
    constexpr bool scales = constant_scaling<typename Composition::scaling>;
    constexpr bool clips = constant_clipping<typename Composition::clipping>;
    static_assert(
        is_alone<Communicator>,
        "halfstep: cuda_backend runs steps of one rank: a communicator would stop its stream to agree; give it self");
    static_assert(scales, "halfstep: a loss scaling calls what only the host has; on CUDA its functions are constexpr");
    static_assert(!scales || clips,
                  "halfstep: a gradient clipping calls what only the host has; on CUDA its functions are constexpr");
    if constexpr (scales && clips)
        for_each_index<Composition::group_count>(
            [](auto g) { require_group_runs<typename Composition::template plan<g>>(); });
}

}  // namespace halfstep::cuda_detail
