// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <stranger/fixture.hpp>
#include <stranger/policies.hpp>

namespace hs = halfstep;

TEST_CASE("a loss scaling of one's own sets the scale from its first state on", "[stranger]") {
    fixture::tensors<hs::fp16> t;
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::climbing_scaling{.start = 16}>{}};
    step.bind(t.parameters, t.gradients);
    REQUIRE(step.loss_scale() == 16);
    t.backward(0, step.loss_scale());
    REQUIRE(step.step(0.5f).applied);
    REQUIRE(step.loss_scale() == 24);

    t.last_gradient() = hs::fp16(fixture::not_a_number);
    const auto record = step.step(0.5f);
    REQUIRE_FALSE(record.applied);
    REQUIRE(record.loss_scale == 24);
    REQUIRE(record.next_loss_scale == 6);
    REQUIRE(step.loss_scale() == 6);
}

TEST_CASE("its scale is divided out again", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, lab::climbing_scaling{.start = 16}>{}};
    step.bind(t.parameters, t.gradients);
    t.last_parameter() = 1;
    t.last_gradient() = 32;
    step.step(0.25f);
    REQUIRE(t.last_parameter() == 0.5f);
}

TEST_CASE("its event and its validation are heard", "[stranger]") {
    fixture::tensors<hs::fp16> t;
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::climbing_scaling{}>{},
                            lab::climbing_scaling{.start = 2, .limit = 1}};
    step.bind(t.parameters, t.gradients);
    t.last_gradient() = hs::fp16(fixture::not_a_number);
    REQUIRE_THROWS_AS(step.step(0.5f), std::runtime_error);
    REQUIRE(step.skipped_steps() == 1);
    REQUIRE(step.loss_scale() == 0.5f);

    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::climbing_scaling{}>;
    REQUIRE_THROWS_AS((hs::optimizer_step{recipe{}, lab::climbing_scaling{.start = -1}}), std::invalid_argument);
}

namespace {

/// A fault in any one place skips the step; without one it is applied.
template <class T, auto Detection>
void finds(float fault, float harmless) {
    fixture::tensors<T> t;
    hs::optimizer_step step{
        hs::recipe<hs::dtype<T>{}, hs::sgd<>{}, Detection, hs::no_scaling{}, hs::accept_underflow{}>{}};
    step.bind(t.parameters, t.gradients);
    for (auto& tensor : t.gradients)
        for (auto& g : tensor) g = hs::narrow<T>(harmless);
    REQUIRE(step.step(0.0f).applied);
    for (auto& tensor : t.gradients)
        for (std::size_t i = 0; i < tensor.size(); i += tensor.size() < 1000 ? 1 : 499) {
            tensor[i] = hs::narrow<T>(fault);
            if (step.step(0.0f).applied) FAIL("element " << i << " of " << tensor.size());
            tensor[i] = hs::narrow<T>(harmless);
        }
    t.last_gradient() = hs::narrow<T>(fault);
    REQUIRE_FALSE(step.step(0.0f).applied);
}

}  // namespace

TEST_CASE("a detector of one's own sees every value, on lanes and float by float", "[stranger]") {
    finds<hs::fp16, lab::bound_check{.bound = 8}>(-9, 7.5f);
    finds<hs::fp16, lab::plain_bound_check{.bound = 8}>(-9, 7.5f);
    finds<float, lab::bound_check{.bound = 8}>(fixture::not_a_number, 8);
}
TEST_CASE("a detector of one's own sees every bit pattern, on lanes and one by one", "[stranger]") {
    finds<hs::bf16, lab::minus_zero_check{}>(-0.0f, 0);
    finds<hs::bf16, lab::plain_minus_zero_check{}>(-0.0f, 0);
    finds<hs::fp8_e4m3, lab::plain_minus_zero_check{}>(-0.0f, 1);
    finds<float, lab::minus_zero_check{}>(-0.0f, 0);
    finds<float, lab::plain_minus_zero_check{}>(-0.0f, 0);
}
TEST_CASE("a detector that looks at the report gets the statistics that it asks for", "[stranger]") {
    finds<hs::bf16, lab::peak_check{.bound = 8}>(-9, 7.5f);
    finds<float, lab::peak_check{.bound = 8}>(9, 8);
    finds<float, lab::peak_check{.bound = 8}>(fixture::not_a_number, 8);
}
TEST_CASE("lanes beyond the end of a tensor are no gradients", "[stranger]") {
    finds<hs::bf16, lab::zero_check{}>(0, 1);
    finds<float, lab::zero_check{}>(0, -1);
}

TEST_CASE("the largest magnitude is in the report of its group", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, lab::peak_check{.bound = 1000}>{}};
    step.bind(t.parameters, t.gradients);
    t.backward(0);
    t.gradients[1][3] = -77;
    step.step(0.1f);
    REQUIRE(step.report<hs::everything>().largest_magnitude == 77);
}
