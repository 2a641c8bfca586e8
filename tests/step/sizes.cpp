// SPDX-License-Identifier: Apache-2.0
// What is not named costs no byte: of a parameter's state, of the values that loops are given, of the control block.
#include <catch.hpp>
#include <optional>
#include <step/helpers.hpp>
#include <type_traits>

namespace {

template <auto... Entries>
using composition = typename hs::recipe<Entries...>::composition;
template <auto... Entries>
using step_of = decltype(hs::optimizer_step{hs::recipe<Entries...>{}});

// ---- bytes a parameter beside the parameter

template <auto... Entries>
constexpr std::size_t state_bytes = step_of<Entries...>::template state_bytes<hs::everything>();
constexpr hs::dtype<float> fp32{};
constexpr hs::sgd<hs::classical_momentum> momentum{};
constexpr hs::static_scaling scaled{};

static_assert(state_bytes<fp32, hs::sgd<>{}> == 0);
static_assert(state_bytes<fp32, momentum> == 4);
static_assert(state_bytes<fp32, hs::lion{}> == 4);
static_assert(state_bytes<fp32, hs::adagrad{}> == 4);
static_assert(state_bytes<fp32, hs::adamw{}> == 8);
static_assert(state_bytes<hs::fp16{}, hs::adamw{}> == 12);  // two moments and a master
static_assert(state_bytes<hs::bf16{}, hs::adam{}> == 12);
static_assert(state_bytes<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}> == 8);
static_assert(state_bytes<hs::bf16{}, hs::adamw{}, hs::kahan{}> == 10);
static_assert(state_bytes<hs::bf16{}, hs::adamw{}, hs::in_place{}> == 8);
static_assert(state_bytes<hs::bf16{}, hs::lion{}, hs::stochastic_rounding{}> == 4);
static_assert(state_bytes<hs::bf16{}, hs::sgd<>{}, hs::stochastic_rounding{}> == 0);
static_assert(state_bytes<hs::fp8_e4m3{}, hs::sgd<>{}, hs::kahan{}> == 1);
static_assert(state_bytes<hs::fp8_e5m2{}, hs::sgd<>{}> == 4);
// Of the whole step and not of a parameter:
static_assert(state_bytes<hs::fp16{}, hs::adamw{}, scaled, hs::clip_by_norm{}, hs::norm_check{}> == 12);

// ---- values

template <auto... Entries>
constexpr std::size_t value_bytes = sizeof(typename composition<Entries...>::policy_values);
/// A group's two factors and the one number of plain descent, and nothing for scaling, clipping, detection, storage and
/// state.
constexpr std::size_t plain_bytes = value_bytes<fp32, hs::sgd<>{}>;
static_assert(plain_bytes == sizeof(hs::group<hs::everything, float>) + sizeof(hs::sgd<>));
static_assert(value_bytes<fp32, hs::sgd<>{}, hs::norm_check{}> == plain_bytes);
static_assert(value_bytes<fp32, hs::sgd<>{}, hs::no_check{}> == plain_bytes);
static_assert(value_bytes<fp32, hs::sgd<>{}, hs::clip_by_norm{}> == plain_bytes + sizeof(hs::clip_by_norm));
static_assert(value_bytes<fp32, hs::sgd<>{}, scaled> == plain_bytes + sizeof(hs::static_scaling));
static_assert(value_bytes<fp32, hs::sgd<>{}, scaled, hs::clip_by_norm{}> ==
              plain_bytes + sizeof(hs::static_scaling) + sizeof(hs::clip_by_norm));
static_assert(value_bytes<hs::bf16{}, hs::sgd<>{}> == plain_bytes);  // fp32_master has no numbers
static_assert(std::is_trivially_copyable_v<composition<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}>::policy_values>);

// ---- the control block

template <auto... Entries>
constexpr std::size_t control_bytes = sizeof(typename composition<Entries...>::control_block);
constexpr std::size_t plain_control = control_bytes<fp32, hs::sgd<>{}>;
static_assert(control_bytes<fp32, hs::sgd<>{}, scaled> == plain_control);  // a scale for ever is no state
static_assert(control_bytes<fp32, hs::sgd<>{}, hs::dynamic_scaling{}> ==
              plain_control + sizeof(hs::dynamic_scaling::state));
static_assert(control_bytes<fp32, hs::sgd<>{}, hs::clip_by_norm{}, hs::norm_check{}> == plain_control);
static_assert(std::is_trivially_copyable_v<composition<hs::fp16{}, hs::adamw{}>::control_block>);

// ---- a policy that does nothing, named: the same step, so the same instructions on every backend

static_assert(
    std::is_same_v<composition<hs::fp16{}, hs::adamw{}>,
                   composition<hs::no_clipping{}, hs::no_telemetry{}, hs::replicated{}, hs::adamw{}, hs::fp16{},
                               hs::fp32_master{}, hs::fp32_state<>{}, hs::nonfinite_check{}, hs::dynamic_scaling{}>>);

// ---- the step itself

using plain = composition<fp32, hs::sgd<>{}>;
template <class Plan>
using tensors_of = hs::group_storage<Plan, hs::host_backend>;
// Backend, values, tensors and where the control block lies; nothing for communicator, layout and telemetry.
static_assert(sizeof(step_of<fp32, hs::sgd<>{}>) ==
              (sizeof(hs::host_backend) + sizeof(plain::policy_values) + sizeof(plain::pack_of<tensors_of>) +
               sizeof(hs::control_storage<plain::control_block, hs::host_backend, false>) + 7) /
                  8 * 8);

}  // namespace

TEST_CASE("a step keeps the bytes that its type says, element for element", "[step]") {
    const auto kept = [](auto recipe, auto element) {
        std::vector<decltype(element)> parameters(300), gradients(300);
        hs::optimizer_step step{recipe};
        step.bind(parameters, gradients);
        std::size_t bytes = 0;
        step.visit_state([&](hs::state_entry const& e) {
            if (e.component == "moment" || e.component == "companion") bytes += e.bytes.size();
        });
        return bytes;
    };
    REQUIRE(kept(hs::recipe<hs::fp16{}, hs::adamw{}>{}, hs::fp16{}) == 300 * 12);
    REQUIRE(kept(hs::recipe<hs::bf16{}, hs::adamw{}, hs::kahan{}>{}, hs::bf16{}) == 300 * 10);
    REQUIRE(kept(hs::recipe<hs::bf16{}, hs::lion{}, hs::stochastic_rounding{}>{}, hs::bf16{}) == 300 * 4);
    REQUIRE(kept(hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}, 0.0f) == 0);
}
