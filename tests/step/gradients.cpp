// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cmath>
#include <span>
#include <step/helpers.hpp>

namespace {

template <class T>
using parameter = hs::tensor_view<T>;
template <class T>
using gradient = hs::tensor_view<T const>;

constexpr std::int64_t n = 70;

}  // namespace

TEST_CASE("a tensor counts its own steps: one that comes later has its own bias correction", "[step]") {
    const auto start = values<float>(n, 1), slope = values<float>(n, 2);
    auto early = start, late = start;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adamw{}>{}};
    const std::array parameters{parameter<float>(early), parameter<float>(late)};
    step.bind(parameters, std::array{gradient<float>(slope), gradient<float>(nullptr, {n})});
    std::vector<std::vector<float>> after;
    for (int s = 0; s < 2; ++s) {
        step.step(0.01f);
        after.push_back(early);
        REQUIRE(late == start);
    }
    step.bind_gradients(std::array{gradient<float>(nullptr, {n}), gradient<float>(slope)});
    for (int s = 0; s < 2; ++s) {
        step.step(0.01f);
        REQUIRE(early == after[1]);
        REQUIRE(late ==
                after[static_cast<std::size_t>(s)]);  // its first and second step, though the third and fourth of all
    }
    step.bind_gradients(std::array{gradient<float>(slope), gradient<float>(nullptr, {n})});
    step.step(0.01f);
    // Two steps missed in between do not count: this is the third one of the first tensor.
    auto alone = start;
    hs::optimizer_step other{hs::recipe<hs::dtype<float>{}, hs::adamw{}>{}};
    other.bind(alone, slope);
    for (int s = 0; s < 3; ++s) other.step(0.01f);
    REQUIRE(early == alone);
}

TEST_CASE("a skipped step is no missed step", "[step]") {
    const auto start = values<float>(n, 1);
    auto slope = values<float>(n, 2);
    auto first = start, second = start, expected = start;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adamw{}>{}};
    step.bind(std::array{parameter<float>(first), parameter<float>(second)},
              std::array{gradient<float>(slope), gradient<float>(nullptr, {n})});
    const float good = slope[7];
    slope[7] = nan_value;
    REQUIRE_FALSE(step.step(0.01f).applied);
    slope[7] = good;
    step.bind_gradients(std::array{gradient<float>(slope), gradient<float>(slope)});
    REQUIRE(step.step(0.01f).applied);

    hs::optimizer_step other{hs::recipe<hs::dtype<float>{}, hs::adamw{}>{}};
    other.bind(expected, slope);
    other.step(0.01f);
    REQUIRE(first == expected);
    REQUIRE(second == expected);
}

TEST_CASE("a tensor without a gradient is neither read nor written", "[step]") {
    std::vector<hs::fp16> p(n, hs::fp16(1.0f)), unused(n, hs::fp16(inf)), g(n, hs::fp16(1.0f));
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::adamw{.weight_decay = 0.5f}, hs::clip_by_norm{}>{}};
    step.bind(std::array{parameter<hs::fp16>(unused), parameter<hs::fp16>(p)},
              std::array{gradient<hs::fp16>(nullptr, {n}), gradient<hs::fp16>(g)});
    const auto record = step.step(0.1f);
    REQUIRE(record.applied);
    REQUIRE(record.gradient_norm == std::sqrt(double{n}) / 65536);
    REQUIRE(unused == std::vector<hs::fp16>(n, hs::fp16(inf)));
}

TEST_CASE("steps without any gradient, without tensors and without elements are applied", "[step]") {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}, hs::dynamic_scaling{.growth_interval = 2}>;
    const auto steps_and_grows = [](auto& step) {
        REQUIRE(step.step(0.1f).gradient_norm == 0);
        const auto second = step.step(0.1f);
        REQUIRE(second.applied);
        REQUIRE(second.next_loss_scale == 131072);
    };
    hs::optimizer_step none{recipe{}};
    none.bind(std::vector<parameter<hs::fp16>>{}, std::vector<gradient<hs::fp16>>{});
    steps_and_grows(none);

    hs::optimizer_step empty{recipe{}};
    empty.bind(std::array{parameter<hs::fp16>(), parameter<hs::fp16>(nullptr, {3, 0, 2})},
               std::array{gradient<hs::fp16>(), gradient<hs::fp16>(nullptr, {0})});
    steps_and_grows(empty);

    auto p = values<hs::fp16>(n, 1);
    const auto before = p;
    hs::optimizer_step without{recipe{}};
    without.bind(parameter<hs::fp16>(p), gradient<hs::fp16>(nullptr, {n}));
    steps_and_grows(without);
    REQUIRE(p == before);
}

TEST_CASE("tensors without elements anywhere in the list disturb nobody", "[step]") {
    auto p = values<hs::bf16>(5000, 1), g = values<hs::bf16>(5000, 2), q = p;
    using recipe = hs::recipe<hs::bf16{}, hs::adamw{}, hs::stochastic_rounding{}, hs::norm_check{}>;
    hs::optimizer_step plain{recipe{}}, with_empty{recipe{}};
    const auto part = [](auto& x, std::size_t first, std::size_t count) { return std::span(x).subspan(first, count); };
    plain.bind(std::array{part(p, 0, 4097), part(p, 4097, 903)}, std::array{part(g, 0, 4097), part(g, 4097, 903)});
    with_empty.bind(std::array{part(q, 0, 0), part(q, 0, 4097), part(q, 0, 0), part(q, 4097, 903), part(q, 0, 0)},
                    std::array{part(g, 0, 0), part(g, 0, 4097), part(g, 0, 0), part(g, 4097, 903), part(g, 0, 0)});
    for (int s = 0; s < 3; ++s) REQUIRE(plain.step(0.1f).gradient_norm == with_empty.step(0.1f).gradient_norm);
    REQUIRE(p == q);
}

namespace {

/// One step of plain descent with parameters and gradients of two dtypes.
template <class T, class Gradient>
void one_step() {
    std::vector<T> p(n, hs::narrow<T>(1.0f));
    std::vector<Gradient> g(n, hs::narrow<Gradient>(0.5f));
    using recipe =
        hs::recipe<hs::group<hs::everything, T, Gradient>{}, hs::sgd<>{}, hs::static_scaling{.loss_scale = 2}>;
    hs::optimizer_step step{recipe{}};
    step.bind(p, g);
    REQUIRE(step.step(1.0f).applied);
    REQUIRE(p == std::vector<T>(n, hs::narrow<T>(0.75f)));
    g[n - 1] = hs::narrow<Gradient>(nan_value);
    REQUIRE_FALSE(step.step(1.0f).applied);
    REQUIRE(p == std::vector<T>(n, hs::narrow<T>(0.75f)));
}

}  // namespace

TEST_CASE("gradients may have another dtype than the parameters", "[step]") {
    one_step<hs::fp16, float>();
    one_step<hs::bf16, hs::fp16>();
    one_step<float, hs::fp8_e5m2>();
    one_step<hs::fp8_e4m3, hs::bf16>();
}

TEST_CASE("binding again after some steps starts over, with masters of the parameters as they are", "[step]") {
    const auto g = values<hs::fp16>(n, 2);
    auto p = values<hs::fp16>(n, 1);
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::static_scaling{.loss_scale = 1}>;
    hs::optimizer_step step{recipe{}};
    step.bind(p, g);
    for (int s = 0; s < 3; ++s) step.step(0.01f);
    auto q = values<hs::fp16>(n + 9, 5), fresh_q = q;
    const auto h = values<hs::fp16>(n + 9, 6);
    step.bind(q, h);
    const auto record = step.step(0.01f);
    REQUIRE(record.applied_steps == 4);

    hs::optimizer_step fresh{recipe{}};
    fresh.bind(fresh_q, h);
    fresh.step(0.01f);
    REQUIRE(q == fresh_q);
    std::vector<std::byte> moments, fresh_moments;
    const auto collect = [](auto& into) {
        return [&into](hs::state_entry const& e) {
            if (e.component == "moment" || e.component == "companion")
                into.insert(into.end(), e.bytes.begin(), e.bytes.end());
        };
    };
    step.visit_state(collect(moments));
    fresh.visit_state(collect(fresh_moments));
    REQUIRE((moments == fresh_moments));
}

TEST_CASE("gradients may move from step to step", "[step]") {
    std::vector<float> p(n, 1.0f), g(n, 0.25f), h(n, 0.5f);
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<hs::classical_momentum>{.momentum = 0.5f}>{}};
    step.bind(p, g);
    step.step(1.0f);
    step.bind_gradients(h);
    g.assign(n, nan_value);  // nobody looks there any more
    REQUIRE(step.step(1.0f).applied);
    REQUIRE(p == std::vector<float>(n, 1 - 0.25f - (0.5f + 0.125f)));
}
