// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <stranger/fixture.hpp>
#include <stranger/machine.hpp>
#include <stranger/policies.hpp>

namespace hs = halfstep;

namespace {

/// The bits of the backend above are those of the library's own.
template <class T, class Gradient, auto... Entries>
void same_as_host(float fault = fixture::not_a_number) {
    const hs::recipe<Entries...> recipe;
    const auto serial = fixture::bytes_after_steps<T, Gradient>(fault, recipe, lab::serial_backend{});
    const auto host = fixture::bytes_after_steps<T, Gradient>(fault, recipe);
    REQUIRE((serial == host));
}

}  // namespace

TEST_CASE("a serial backend of one's own gives the bits of the host backend", "[stranger]") {
    same_as_host<hs::fp16, hs::fp16, hs::fp16{}, hs::adamw{}, hs::clip_by_norm{.max_norm = 0.5f}>();
    same_as_host<hs::bf16, hs::bf16, hs::bf16{}, hs::lion{}, hs::stochastic_rounding{.seed = 3},
                 hs::clip_by_value{.max_value = 0.25f}>();
    same_as_host<hs::bf16, float, hs::group<hs::everything, hs::bf16, float>{}, hs::sgd<hs::nesterov>{}, hs::kahan{},
                 hs::norm_check{}>();
    same_as_host<hs::fp8_e5m2, hs::fp8_e5m2, hs::fp8_e5m2{}, hs::sgd<>{}, hs::exponent_check{},
                 hs::static_scaling{.loss_scale = 64}>();
}

TEST_CASE("it runs policies of one's own too", "[stranger]") {
    same_as_host<hs::bf16, hs::bf16, hs::bf16{}, lab::plain_sign_descent{}, lab::sixteenths_state{}, lab::chopped{},
                 lab::peak_check{.bound = 4}, lab::soft_clip{}>();
    same_as_host<hs::fp16, hs::fp16, hs::fp16{}, lab::sign_descent{}, lab::bf16_state{}, lab::two_parts{},
                 lab::minus_zero_check{}, lab::climbing_scaling{.start = 4}>(-0.0f);
}

TEST_CASE("it inspects micro-batches", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}, lab::serial_backend{}};
    step.bind(t.parameters, t.gradients);
    t.backward(0);
    const float good = t.last_gradient();
    t.last_gradient() = std::numeric_limits<float>::infinity();
    step.inspect_micro_batch();
    t.last_gradient() = good;
    REQUIRE_FALSE(step.step(0.1f).applied);
    REQUIRE(step.step(0.1f).applied);
}
