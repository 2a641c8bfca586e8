// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <stranger/fixture.hpp>
#include <stranger/policies.hpp>

namespace hs = halfstep;

namespace {
struct left;
struct right;
}  // namespace

TEST_CASE("a clipping of one's own gets the norm of each group, unscaled", "[stranger]") {
    std::vector<float> a(2, 0.0f), b(2, 0.0f), ga{24, 32}, gb{0, 8};  // norms 10 and 2, times 4
    using recipe = hs::recipe<hs::group<left, float>{}, hs::group<right, float>{}, hs::sgd<>{},
                              hs::static_scaling{.loss_scale = 4}, lab::clip_own_norm{.max_norm = 5}>;
    hs::optimizer_step step{recipe{}};
    step.bind<left>(a, ga);
    step.bind<right>(b, gb);
    step.step(1.0f);
    REQUIRE(a == std::vector<float>{-3, -4});
    REQUIRE(b == std::vector<float>{0, -2});
}

TEST_CASE("a clipping of one's own may work element by element, in plain floats", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, lab::soft_clip{}>{}};
    step.bind(t.parameters, t.gradients);
    const auto before = t.parameters;
    t.backward(0);
    step.step(1.0f);
    for (std::size_t k = 0; k < before.size(); ++k)
        for (std::size_t i = 0; i < before[k].size(); ++i) {
            const float g = t.gradients[k][i];
            const float expected = std::fma(-1.0f, g / (1 + std::fabs(g)), before[k][i]);
            if (t.parameters[k][i] != expected) FAIL("tensor " << k << " element " << i);
        }
    REQUIRE(t.parameters != before);
}

TEST_CASE("a storage of one's own keeps a companion and runs on lanes", "[stranger]") {
    fixture::tensors<hs::fp16> t;
    hs::optimizer_step step{
        hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::two_parts{}, hs::no_scaling{}, hs::accept_underflow{}>{}};
    step.bind(t.parameters, t.gradients);
    t.last_parameter() = hs::fp16(3.0f);
    step.bind(t.parameters, t.gradients);
    t.last_gradient() = hs::fp16(1.0f);
    step.step(0.5f);
    REQUIRE(hs::widen(t.last_parameter()) == 1.25f);  // half of 2.5; the other half is the companion
    t.last_gradient() = hs::fp16(-1.0f);
    step.step(0.5f);
    REQUIRE(hs::widen(t.last_parameter()) == 1.5f);
    REQUIRE(step.state_bytes<hs::everything>() == 2);
}

TEST_CASE("a storage of one's own may be for one dtype and plain floats", "[stranger]") {
    fixture::tensors<hs::bf16, float> t;
    hs::optimizer_step step{hs::recipe<hs::group<hs::everything, hs::bf16, float>{}, hs::sgd<>{}, lab::chopped{}>{}};
    step.bind(t.parameters, t.gradients);
    const auto before = t.parameters;
    for (auto& tensor : t.gradients) std::fill(tensor.begin(), tensor.end(), 0.0009765625f);
    step.step(1.0f);
    for (std::size_t k = 0; k < before.size(); ++k)
        for (std::size_t i = 0; i < before[k].size(); ++i) {
            const float exact = hs::widen(before[k][i]) - 0.0009765625f;
            const hs::bf16 expected = hs::bf16::from_bits(static_cast<std::uint16_t>(hs::bits_of(exact) >> 16));
            if (t.parameters[k][i] != expected) FAIL("tensor " << k << " element " << i);
        }
    REQUIRE(t.parameters != before);
}

TEST_CASE("moments in bf16, on lanes and float by float, have the same bits", "[stranger]") {
    const auto generic = fixture::bytes_after_steps<hs::fp16, hs::fp16>(
        fixture::not_a_number,
        hs::recipe<hs::fp16{}, hs::adamw{}, lab::bf16_state{}, hs::static_scaling{.loss_scale = 8}>{});
    const auto plain = fixture::bytes_after_steps<hs::fp16, hs::fp16>(
        fixture::not_a_number,
        hs::recipe<hs::fp16{}, hs::adamw{}, lab::plain_bf16_state{}, hs::static_scaling{.loss_scale = 8}>{});
    REQUIRE((generic == plain));
    const auto wide = fixture::bytes_after_steps<hs::fp16, hs::fp16>(
        fixture::not_a_number, hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{.loss_scale = 8}>{});
    const std::size_t elements = 5 + 300 + 9001;
    REQUIRE(wide.size() - generic.size() == elements * 2 * 2);
}

TEST_CASE("moments in a type of one's own are loaded and stored by its rule", "[stranger]") {
    std::vector<float> parameters(37, 1.0f), gradients(37, 0.3f);
    using recipe =
        hs::recipe<hs::dtype<float>{}, hs::sgd<hs::classical_momentum>{.momentum = 0.5f}, lab::sixteenths_state{}>;
    hs::optimizer_step step{recipe{}};
    step.bind(parameters, gradients);
    step.step(1.0f);  // the moment is 0.3 now, and 5/16 when it is read again
    step.step(1.0f);
    const float first = 1.0f - 0.3f;
    for (float p : parameters) REQUIRE(p == std::fma(-1.0f, std::fma(0.5f, 0.3125f, 0.3f), first));
    REQUIRE(step.state_bytes<hs::everything>() == 2);
}
