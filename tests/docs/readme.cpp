// SPDX-License-Identifier: Apache-2.0
// The recipe on the first page.
#include <catch.hpp>
#include <cmath>
#include <vector>

// clang-format off
// [snippet: recipe]
#include <halfstep/halfstep.hpp>
namespace hs = halfstep;

struct backbone; struct embedding; struct head;

using recipe = hs::recipe<
    hs::group<backbone, hs::bf16>{},               // parameters of different dtypes, each with its own rules
    hs::group<embedding, float>{},
    hs::group<head, hs::fp16>{},
    hs::adamw{.weight_decay = 0.01f},
    hs::dynamic_scaling{.growth_interval = 2000},
    hs::clip_by_norm{.max_norm = 1.0f},
    hs::on<backbone, hs::stochastic_rounding{}>{}>;  // a policy for one group only
// [end]
// clang-format on

namespace {

constexpr std::size_t size = 100;

/// Its loss is the sum of all weights.
struct whole_model {
    std::vector<hs::bf16> gradients = std::vector<hs::bf16>(size);
    std::vector<float> embedding_gradients = std::vector<float>(size);
    std::vector<hs::fp16> head_gradients = std::vector<hs::fp16>(size);

    void backward(int, float loss_scale) {
        for (auto& g : gradients) g = hs::bf16(loss_scale);
        for (auto& g : embedding_gradients) g = loss_scale;
        for (auto& g : head_gradients) g = hs::fp16(loss_scale);
    }
};

}  // namespace

TEST_CASE("The recipe of the README finds its scale and trains all groups") {
    whole_model model;
    auto& gradients = model.gradients;
    std::vector<hs::bf16> weights(size, hs::bf16(1.0f));
    std::vector<float> embeddings(size, 1.0f);
    std::vector<hs::fp16> head_weights(size, hs::fp16(1.0f));
    const float lr = 0.1f;

    // clang-format off
    // [snippet: recipe]
    hs::optimizer_step opt{recipe{}};
    opt.bind<backbone>(weights, gradients);              // your own memory: ranges of tensors, zero-copy
    // [end]
    opt.bind<embedding>(embeddings, model.embedding_gradients);
    opt.bind<head>(head_weights, model.head_gradients);
    for (int batch = 0; batch < 3; ++batch) {
        // [snippet: recipe]
        // … bind the other groups, then, for every batch:
        model.backward(batch, opt.loss_scale());
        opt.step(lr);                                        // inspect, agree, unscale, clip, update, store, rescale
        // [end]
    }
    // clang-format on

    CHECK(opt.loss_scale() == 32768);  // 65536 is beyond fp16
    CHECK(opt.skipped_steps() == 1);
    CHECK(std::abs(opt.last().gradient_norm - std::sqrt(300.0)) < 1e-6);
    CHECK(hs::widen(weights[7]) < 0.9f);
    CHECK(embeddings[7] < 0.9f);
    CHECK(hs::widen(head_weights[7]) < 0.9f);
    static_assert(decltype(opt)::state_bytes<backbone>() == 8);
    static_assert(decltype(opt)::state_bytes<head>() == 12);
}
