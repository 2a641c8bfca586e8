// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <cmath>
#include <step/helpers.hpp>

namespace {

struct backbone;
struct embedding;
struct head;
struct anchor;

using recipe = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<embedding, float>{.lr_factor = 2},
                          hs::group<head, hs::fp16>{}, hs::frozen<anchor, hs::fp16>{}, hs::sgd<>{},
                          hs::static_scaling{.loss_scale = 8}>;

/// One tensor a group, all weights 1.
struct model {
    std::vector<hs::bf16> backbone_weights, backbone_gradients;
    std::vector<float> embedding_weights, embedding_gradients;
    std::vector<hs::fp16> head_weights, head_gradients, anchor_weights;

    explicit model(std::size_t n = 40)
        : backbone_weights(n, hs::bf16(1.0f)),
          backbone_gradients(n, hs::bf16(1.0f)),
          embedding_weights(n, 1.0f),
          embedding_gradients(n, 2.0f),
          head_weights(n, hs::fp16(1.0f)),
          head_gradients(n, hs::fp16(4.0f)),
          anchor_weights(n, hs::fp16(1.0f)) {}
    template <class Step>
    void bind(Step& step) {
        step.template bind<backbone>(backbone_weights, backbone_gradients);
        step.template bind<embedding>(embedding_weights, embedding_gradients);
        step.template bind<head>(head_weights, head_gradients);
        step.template bind<anchor>(anchor_weights);
    }
};

}  // namespace

TEST_CASE("groups of several dtypes advance in one step, each by its own factor", "[step]") {
    model m;
    hs::optimizer_step step{recipe{}};
    m.bind(step);
    REQUIRE(step.step(0.5f).applied);
    REQUIRE(m.backbone_weights == std::vector<hs::bf16>(40, hs::bf16(1 - 0.5f / 8)));
    REQUIRE(m.embedding_weights == std::vector<float>(40, 1 - 1.0f * 2 / 8));
    REQUIRE(m.head_weights == std::vector<hs::fp16>(40, hs::fp16(1 - 0.5f * 4 / 8)));
}

TEST_CASE("an overflow in one group skips the step of all", "[step]") {
    for (int group = 0; group < 3; ++group) {
        INFO("group " << group);
        model m, before;
        hs::optimizer_step step{recipe{}};
        m.bind(step);
        if (group == 0) m.backbone_gradients[39] = hs::bf16(inf);
        if (group == 1) m.embedding_gradients[39] = nan_value;
        if (group == 2) m.head_gradients[39] = hs::fp16(-inf);
        REQUIRE_FALSE(step.step(0.5f).applied);
        REQUIRE(m.backbone_weights == before.backbone_weights);
        REQUIRE(m.embedding_weights == before.embedding_weights);
        REQUIRE(m.head_weights == before.head_weights);
        REQUIRE(step.report<backbone>().flagged == (group == 0));
        REQUIRE(step.report<embedding>().flagged == (group == 1));
        REQUIRE(step.report<head>().flagged == (group == 2));
    }
}

TEST_CASE("a group may go unchecked while others are", "[step]") {
    using unchecked = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<embedding, float>{}, hs::sgd<>{},
                                 hs::on<embedding, hs::no_check{}>{}>;
    std::vector<hs::bf16> p(5, hs::bf16(1.0f)), g(5, hs::bf16(1.0f));
    std::vector<float> q(5, 1.0f), h(5, 1.0f);
    hs::optimizer_step step{unchecked{}};
    step.bind<backbone>(p, g);
    step.bind<embedding>(q, h);
    h[2] = nan_value;
    REQUIRE(step.step(0.5f).applied);
    REQUIRE(std::isnan(q[2]));
    REQUIRE(q[1] == 0.5f);
    g[4] = hs::bf16(inf);
    REQUIRE_FALSE(step.step(0.5f).applied);
}

TEST_CASE("a frozen group is bound, and no byte of it is written", "[step]") {
    model m;
    hs::optimizer_step step{recipe{}};
    m.bind(step);
    m.anchor_weights.assign(40, hs::fp16(inf));  // not looked at either
    for (int s = 0; s < 3; ++s) REQUIRE(step.step(0.5f).applied);
    REQUIRE(m.anchor_weights == std::vector<hs::fp16>(40, hs::fp16(inf)));
    REQUIRE(step.state_bytes<anchor>() == 0);
    step.visit_state([](hs::state_entry const& e) { REQUIRE(e.group != "anchor"); });
}

TEST_CASE("a step before bind says which group is missing, and changes nothing", "[step]") {
    model m;
    hs::optimizer_step step{recipe{}};
    step.bind<backbone>(m.backbone_weights, m.backbone_gradients);
    step.bind<head>(m.head_weights, m.head_gradients);
    step.bind<anchor>(m.anchor_weights);
    const auto message = message_of<std::logic_error>([&] { step.step(0.5f); });
    INFO(message);
    REQUIRE(contains(message, "bind<embedding>"));
    REQUIRE(contains(message_of<std::logic_error>([&] { step.inspect_micro_batch(); }), "bind<embedding>"));
    REQUIRE(m.backbone_weights == std::vector<hs::bf16>(40, hs::bf16(1.0f)));
    REQUIRE(step.last().step == 0);
    step.bind<embedding>(m.embedding_weights, m.embedding_gradients);
    REQUIRE(step.step(0.5f).step == 1);

    hs::optimizer_step unbound{recipe{}};
    model n;
    unbound.bind<backbone>(n.backbone_weights, n.backbone_gradients);
    unbound.bind<embedding>(n.embedding_weights, n.embedding_gradients);
    unbound.bind<head>(n.head_weights, n.head_gradients);
    REQUIRE(contains(message_of<std::logic_error>([&] { unbound.step(0.5f); }), "bind<anchor>"));
}

TEST_CASE("norm clipping takes the norm over all groups", "[step]") {
    using clipped = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<embedding, float>{}, hs::sgd<>{},
                               hs::static_scaling{.loss_scale = 2}, hs::clip_by_norm{.max_norm = 2.5f}>;
    std::vector<hs::bf16> p{hs::bf16(0.0f)}, g{hs::bf16(6.0f)};
    std::vector<float> q{0}, h{8};
    hs::optimizer_step step{clipped{}};
    step.bind<backbone>(p, g);
    step.bind<embedding>(q, h);
    REQUIRE(step.step(1.0f).gradient_norm == 5);  // of 3 and 4, unscaled
    const auto factor = static_cast<float>(0.5 * (2.5 / (5 + 1e-6)));
    REQUIRE(q[0] == std::fma(-1.0f, 8 * factor, 0.0f));
    REQUIRE(p[0] == hs::bf16(-6 * factor));
}

TEST_CASE("the norm of some groups is not passed off as that of all", "[step]") {
    using half_known = hs::recipe<hs::group<backbone, float>{}, hs::group<embedding, float>{}, hs::sgd<>{},
                                  hs::on<embedding, hs::norm_check{}>{}>;
    std::vector<float> p{1}, g{3}, q{1}, h{4};
    hs::optimizer_step step{half_known{}};
    step.bind<backbone>(p, g);
    step.bind<embedding>(q, h);
    REQUIRE(std::isnan(step.step(0.5f).gradient_norm));
    REQUIRE(step.report<embedding>().sum_of_squares == 16);
}

TEST_CASE("random bits differ from group to group", "[step]") {
    using random = hs::recipe<hs::group<backbone, hs::bf16>{}, hs::group<head, hs::bf16>{}, hs::sgd<>{},
                              hs::stochastic_rounding{.seed = 4}>;
    std::vector<hs::bf16> p(300, hs::bf16(1.0f)), g(300, hs::bf16(0.002f)), q = p, h = g;
    hs::optimizer_step step{random{}};
    step.bind<backbone>(p, g);
    step.bind<head>(q, h);
    step.step(1.0f);
    REQUIRE(p != q);
}
