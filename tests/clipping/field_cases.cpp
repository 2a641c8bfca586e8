// SPDX-License-Identifier: Apache-2.0
// Faults of clipping and norms that others met in public, as tests of whole steps.
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

namespace hs = halfstep;

namespace {

struct weights;

/// fp32 parameters of 0 and SGD with learning rate 1: after a step they are the negated, unscaled, clipped gradients.
template <class Gradient, auto... Policies>
struct seen_gradients {
    hs::step_record record;
    std::vector<float> values;

    explicit seen_gradients(std::vector<Gradient> const& gradients) : values(gradients.size()) {
        hs::optimizer_step opt{hs::recipe<hs::group<weights, float, Gradient>{}, hs::sgd<>{}, Policies...>{}};
        opt.bind(values, gradients);
        record = opt.step(1.0f);
        for (float& x : values) x = -x;
    }
};

std::vector<hs::fp16> halves(std::initializer_list<std::uint16_t> patterns) {
    std::vector<hs::fp16> result;
    for (auto pattern : patterns) result.push_back(hs::fp16::from_bits(pattern));
    return result;
}

}  // namespace

TEST_CASE("field case 4.1: clip after unscaling") {
    // 3072 and 4096 with a scale of 1024. Clipping them first would give 0.000586 and 0.000781.
    const seen_gradients<hs::fp16, hs::static_scaling{.loss_scale = 1024}, hs::clip_by_norm{.max_norm = 1}> seen(
        halves({0x6A00, 0x6C00}));
    REQUIRE(seen.record.applied);
    REQUIRE(seen.record.gradient_norm == 5);
    REQUIRE(std::fabs(seen.values[0] - 0.59999988f) <= 0x1p-24f);
    REQUIRE(std::fabs(seen.values[1] - 0.79999984f) <= 0x1p-24f);

    const seen_gradients<hs::fp16, hs::static_scaling{.loss_scale = 1024}, hs::clip_by_value{.max_value = 3.5f}>
        by_value(halves({0x6A00, 0x6C00}));
    REQUIRE(by_value.values == std::vector<float>{3, 3.5f});
}

TEST_CASE("field case 4.2: norms and sums accumulate wider than half") {
    SECTION("a gradient of 300, whose square is no fp16, is clipped to 1 and not to 0") {
        const seen_gradients<hs::fp16, hs::static_scaling{.loss_scale = 1}, hs::clip_by_norm{.max_norm = 1}> seen(
            {hs::fp16(300.0f)});
        REQUIRE(seen.record.gradient_norm == 300);
        REQUIRE(hs::fp16(seen.values[0]).bits == 0x3C00);
    }
    SECTION("4096 ones have norm 64; a sum in fp16 would stop at 2048") {
        const seen_gradients<hs::fp16, hs::static_scaling{.loss_scale = 1}, hs::norm_check{}> seen(
            std::vector<hs::fp16>(4096, hs::fp16(1.0f)));
        REQUIRE(seen.record.gradient_norm == 64);
    }
    SECTION("large values of both signs: the sum of their squares is exact, where one alone overflows fp16") {
        std::vector<hs::fp16> gradients(8, hs::fp16(32000.0f));
        for (std::size_t i = 4; i < 8; ++i) gradients[i] = hs::fp16(-32000.0f);
        using recipe = hs::recipe<hs::group<weights, float, hs::fp16>{}, hs::sgd<>{},
                                  hs::static_scaling{.loss_scale = 1}, hs::norm_check{}>;
        std::vector<float> parameters(8);
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        REQUIRE(opt.step(1.0f).applied);
        REQUIRE(opt.report<weights>().sum_of_squares == 8 * 32000.0 * 32000.0);
    }
}

TEST_CASE("field case 4.3: clipping is independent of scaling") {
    const std::vector<hs::bf16> gradients{hs::bf16(3.0f), hs::bf16(4.0f)};
    const seen_gradients<hs::bf16, hs::no_scaling{}, hs::clip_by_norm{.max_norm = 1}> seen(gradients);
    REQUIRE(std::fabs(seen.values[0] - 0.6f) < 1e-6f);  // and not yet rounded to bf16
    REQUIRE(std::fabs(seen.values[1] - 0.8f) < 1e-6f);
    REQUIRE(seen.values[0] != hs::widen(hs::bf16(0.6f)));
    REQUIRE(seen.record.gradient_norm == 5);
}

TEST_CASE("field case 4.3: a bad threshold is refused when the step is built, and erases no gradient") {
    using recipe = hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::clip_by_norm{.max_norm = 1}>;
    for (float bad : {-1.0f, 0.0f, std::numeric_limits<float>::quiet_NaN()}) {
        const auto build = [&] { hs::optimizer_step opt{recipe{}, hs::clip_by_norm{.max_norm = bad}}; };
        REQUIRE_THROWS_AS(build(), std::invalid_argument);
    }
    const seen_gradients<hs::bf16, hs::no_clipping{}> off({hs::bf16(3.0f), hs::bf16(4.0f)});
    REQUIRE(off.values == std::vector<float>{3, 4});
}

TEST_CASE("field case 10.4: the norm is reproducible, and with it every clipped weight") {
    constexpr std::size_t count = 1000003;
    std::vector<float> gradients(count);
    std::uint32_t word = 1;
    for (float& g : gradients) {
        word = word * 1664525u + 1013904223u;
        g = std::ldexp(static_cast<float>(word >> 8) - 0x1p23f, static_cast<int>(word % 16) - 40);
    }
    using recipe = hs::recipe<hs::dtype<float>{}, hs::adamw{}, hs::clip_by_norm{.max_norm = 0.01f}>;
    std::vector<float> first_weights;
    double first_norm = 0;
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<float> parameters(count, 1.0f);
        hs::optimizer_step opt{recipe{}, hs::host_backend{.threads = 1 + repeat % 4}};
        opt.bind(parameters, gradients);
        const double norm = opt.step(0.1f).gradient_norm;
        if (repeat == 0) {
            first_norm = norm;
            first_weights = parameters;
            // And it is the right one: the same squares in long double.
            long double squares = 0;
            for (float g : gradients) squares += static_cast<long double>(g) * static_cast<long double>(g);
            REQUIRE(std::fabs(norm - static_cast<double>(std::sqrt(squares))) <= 1e-6 * norm);
        }
        REQUIRE(norm == first_norm);
        REQUIRE(parameters == first_weights);
    }
}
