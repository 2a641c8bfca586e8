// SPDX-License-Identifier: Apache-2.0
// Clipping inside whole steps: one norm over all groups, one factor for all of them, and steps whose norm is no number.
#include <catch.hpp>
#include <cmath>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

namespace hs = halfstep;

namespace {

struct backbone;
struct embedding;
struct head;
struct buffers;

/// Gradients of three dtypes and a frozen group, all under one scale; SGD with learning rate 1 from parameters of 0.
template <auto... Policies>
struct three_groups {
    using recipe = hs::recipe<hs::group<backbone, float, hs::bf16>{}, hs::group<embedding, float>{},
                              hs::group<head, float, hs::fp16>{}, hs::frozen<buffers, hs::bf16>{}, hs::sgd<>{},
                              hs::static_scaling{.loss_scale = 8}, Policies...>;
    std::vector<std::vector<float>> backbone_values{{0.0f}, {}, {0.0f}};
    std::vector<float> embedding_values{0.0f}, head_values{0.0f, 0.0f};
    std::vector<hs::bf16> frozen_values{hs::bf16(100.0f)};
    // Unscaled: 2, 4; 5; 6, 0: a norm of 9.
    std::vector<std::vector<hs::bf16>> backbone_gradients{{hs::bf16(16.0f)}, {}, {hs::bf16(-32.0f)}};
    std::vector<float> embedding_gradients{40};
    std::vector<hs::fp16> head_gradients{hs::fp16(48.0f), hs::fp16(0.0f)};
    hs::optimizer_step<typename recipe::composition> opt{recipe{}};

    three_groups() {
        opt.template bind<backbone>(backbone_values, backbone_gradients);
        opt.template bind<embedding>(embedding_values, embedding_gradients);
        opt.template bind<head>(head_values, head_gradients);
        opt.template bind<buffers>(frozen_values);
    }
    std::vector<float> values() const {
        return {backbone_values[0][0], backbone_values[2][0], embedding_values[0], head_values[0], head_values[1]};
    }
};

std::vector<float> clipped_to(float max_norm, double norm, std::vector<float> gradients) {
    const double bound = static_cast<double>(max_norm) / (norm + 1e-6);
    const auto factor = static_cast<float>((bound < 1 ? bound : 1) / 8);
    for (float& g : gradients) g = -(g * 8 * factor);
    return gradients;
}

template <class Opt>
void require_skipped(Opt& opt) {
    const auto record = opt.step(1.0f);
    REQUIRE(!record.applied);
    REQUIRE(record.applied_steps == 0);
}

}  // namespace

TEST_CASE("the norm is one over all groups, unscaled, whatever their dtypes, and so is the factor") {
    three_groups<hs::clip_by_norm{.max_norm = 3}> step;
    REQUIRE(step.opt.step(1.0f).gradient_norm == 9);
    REQUIRE(step.values() == clipped_to(3, 9, {2, -4, 5, 6, 0}));
    REQUIRE(hs::widen(step.frozen_values[0]) == 100);
    REQUIRE(step.opt.report<backbone>().sum_of_squares == 64 * 20);
    REQUIRE(step.opt.report<embedding>().sum_of_squares == 64 * 25);
    REQUIRE(step.opt.report<head>().sum_of_squares == 64 * 36);
}

TEST_CASE("a norm below the threshold changes no bit, and no_clipping never does") {
    three_groups<hs::clip_by_norm{.max_norm = 9.5f}> below;
    REQUIRE(below.opt.step(1.0f).gradient_norm == 9);
    REQUIRE(below.values() == std::vector<float>{-2, 4, -5, -6, 0});
    three_groups<hs::no_clipping{}> none;
    REQUIRE(std::isnan(none.opt.step(1.0f).gradient_norm));  // nobody asked
    REQUIRE(none.values() == std::vector<float>{-2, 4, -5, -6, 0});
}

TEST_CASE("clip_by_value clamps each unscaled element of every group") {
    three_groups<hs::clip_by_value{.max_value = 4.5f}> step;
    REQUIRE(step.opt.step(1.0f).applied);
    REQUIRE(step.values() == std::vector<float>{-2, 4, -4.5f, -4.5f, 0});
}

TEST_CASE("gradients summed over micro-batches are clipped as their mean") {
    three_groups<hs::clip_by_norm{.max_norm = 3}> step;
    const auto record = step.opt.step({.lr = 1, .micro_batches = 2});
    REQUIRE(record.gradient_norm == 4.5);
    const std::vector<float> expected = clipped_to(3, 4.5, {1, -2, 2.5f, 3, 0}), values = step.values();
    for (std::size_t i = 0; i < 5; ++i) REQUIRE(std::fabs(values[i] - expected[i]) <= 1e-6f);
}

TEST_CASE("a norm that is not finite skips the step instead of erasing the gradients") {
    using recipe = hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, hs::clip_by_norm{.max_norm = 1}>;
    SECTION("finite gradients whose squares overflow, which nonfinite_check lets pass") {
        std::vector<float> parameters(3, 1.0f), gradients{1, 1e25f, 1};
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        require_skipped(opt);
        REQUIRE(std::isinf(opt.last().gradient_norm));
        REQUIRE(parameters == std::vector<float>{1, 1, 1});
    }
    SECTION("a NaN in one group skips all of them") {
        three_groups<hs::clip_by_norm{.max_norm = 3}> step;
        step.head_gradients[1] = hs::fp16(std::numeric_limits<float>::quiet_NaN());
        require_skipped(step.opt);
        REQUIRE(step.values() == std::vector<float>(5));
    }
    SECTION("without norm clipping the same finite gradients are applied") {
        std::vector<float> parameters(1), gradients{1e25f};
        hs::optimizer_step opt{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}};
        opt.bind(parameters, gradients);
        REQUIRE(opt.step(1.0f).applied);
        REQUIRE(parameters[0] == -1e25f);
    }
}

TEST_CASE("with no_check on bf16 a NaN passes clip_by_value as a NaN, and an infinity is clamped") {
    using recipe = hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::no_check{}, hs::clip_by_value{.max_value = 0.5f}>;
    for (std::size_t place : {0u, 7u, 20u}) {
        std::vector<hs::bf16> parameters(21, hs::bf16(1.0f)), gradients(21, hs::bf16(-0.25f));
        gradients[place] = hs::bf16(std::numeric_limits<float>::quiet_NaN());
        gradients[place == 7 ? 8 : 7] = hs::bf16(std::numeric_limits<float>::infinity());
        hs::optimizer_step opt{recipe{}};
        opt.bind(parameters, gradients);
        REQUIRE(opt.step(1.0f).applied);
        for (std::size_t i = 0; i < 21; ++i) {
            CAPTURE(place, i);
            if (i == place)
                REQUIRE(std::isnan(hs::widen(parameters[i])));
            else
                REQUIRE(hs::widen(parameters[i]) == (i == (place == 7 ? 8u : 7u) ? 0.5f : 1.25f));
        }
    }
}

TEST_CASE("an empty model has norm zero and is stepped") {
    std::vector<float> none;
    hs::optimizer_step opt{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, hs::clip_by_norm{.max_norm = 1}>{}};
    opt.bind(none, none);
    const auto record = opt.step(1.0f);
    REQUIRE(record.applied);
    REQUIRE(record.gradient_norm == 0);
}
