// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <step/helpers.hpp>

namespace {

struct body;
struct head;

using two_groups = hs::recipe<hs::group<body, float>{}, hs::group<head, float>{}, hs::sgd<>{}>;

/// Weights of 1 and gradients of 0 in both groups, after a step at learning rate 1: what weight decay leaves of them.
template <class Recipe, class... Arguments>
std::pair<float, float> decayed(Recipe recipe, Arguments... arguments) {
    std::vector<float> p{1}, q{1}, g{0}, h{0};
    hs::optimizer_step opt{recipe, arguments...};
    opt.template bind<body>(p, g);
    opt.template bind<head>(q, h);
    opt.step(1.0f);
    return {p[0], q[0]};
}

template <class Recipe, class... Arguments>
void refused(char const* sentence, Recipe recipe, Arguments... arguments) {
    const auto message = message_of<std::invalid_argument>([&] { hs::optimizer_step opt{recipe, arguments...}; });
    INFO(message);
    REQUIRE(contains(message, sentence));
}

}  // namespace

TEST_CASE("a value given at construction replaces the recipe's, in every group that has the policy", "[step]") {
    REQUIRE(decayed(two_groups{}) == std::pair(1.0f, 1.0f));
    REQUIRE(decayed(two_groups{}, hs::sgd<>{.weight_decay = 0.25f}) == std::pair(0.75f, 0.75f));
}

TEST_CASE("in_group gives one group another value, whatever is said before or after", "[step]") {
    constexpr hs::sgd<> quarter{.weight_decay = 0.25f}, half{.weight_decay = 0.5f};
    REQUIRE(decayed(two_groups{}, hs::in_group<head>(half)) == std::pair(1.0f, 0.5f));
    REQUIRE(decayed(two_groups{}, quarter, hs::in_group<head>(half)) == std::pair(0.75f, 0.5f));
    REQUIRE(decayed(two_groups{}, hs::in_group<head>(half), quarter) == std::pair(0.75f, 0.5f));
}

TEST_CASE("on gives one group a value or a policy of its own", "[step]") {
    using with_value = hs::recipe<hs::group<body, float>{}, hs::group<head, float>{}, hs::sgd<>{.weight_decay = 0.25f},
                                  hs::on<head, hs::sgd<>{.weight_decay = 0.5f}>{}>;
    REQUIRE(decayed(with_value{}) == std::pair(0.75f, 0.5f));
    using with_policy = hs::recipe<hs::group<body, float>{}, hs::on<head, hs::lion{.weight_decay = 0.5f}>{},
                                   hs::group<head, float>{}, hs::sgd<>{.weight_decay = 0.25f}>;
    REQUIRE(decayed(with_policy{}) == std::pair(0.75f, 0.5f));
    REQUIRE(decayed(with_policy{}, hs::lion{.weight_decay = 0.125f}) == std::pair(0.75f, 0.875f));
}

TEST_CASE("a group's factors can be given at construction", "[step]") {
    constexpr hs::sgd<> half{.weight_decay = 0.5f};
    REQUIRE(decayed(two_groups{}, half, hs::group<head, float>{.weight_decay_factor = 0}) == std::pair(0.5f, 1.0f));
    REQUIRE(decayed(two_groups{}, half, hs::group<body, float>{.lr_factor = 0.5f}) == std::pair(0.75f, 0.5f));
}

TEST_CASE("scaling, clipping and storage take values at construction", "[step]") {
    std::vector<hs::bf16> p{hs::bf16(1.0f)}, g{hs::bf16(8.0f)};
    using recipe =
        hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::static_scaling{}, hs::clip_by_value{}, hs::stochastic_rounding{}>;
    hs::optimizer_step opt{recipe{}, hs::clip_by_value{.max_value = 0.5f}, hs::static_scaling{.loss_scale = 4}};
    opt.bind(p, g);
    REQUIRE(opt.loss_scale() == 4);
    opt.step(1.0f);
    REQUIRE(hs::widen(p[0]) == 0.5f);

    const auto rounded = [](std::uint64_t seed) {
        std::vector<hs::bf16> parameters(200, hs::bf16(1.0f)), gradients(200, hs::bf16(0.001f));
        hs::optimizer_step step{hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::stochastic_rounding{.seed = 1}>{},
                                hs::stochastic_rounding{.seed = seed}};
        step.bind(parameters, gradients);
        step.step(1.0f);
        return parameters;
    };
    REQUIRE((rounded(1) != rounded(2)));
    REQUIRE((rounded(2) == rounded(2)));
}

TEST_CASE("values given at construction are validated by the policy that they belong to", "[step]") {
    using recipe = hs::recipe<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}, hs::scale_curve<>{}>;
    refused("dynamic_scaling.backoff_factor", recipe{}, hs::dynamic_scaling{.backoff_factor = 1});
    refused("adamw.beta2", recipe{}, hs::adamw{.beta2 = 1});
    refused("clip_by_norm.max_norm", recipe{}, hs::clip_by_norm{.max_norm = nan_value});
    refused("scale_curve.every", recipe{}, hs::scale_curve<>{.every = 0});
    refused("group.lr_factor", two_groups{}, hs::group<head, float>{.lr_factor = -1});
    refused("sgd.weight_decay", two_groups{}, hs::in_group<head>(hs::sgd<>{.weight_decay = inf}));
}
