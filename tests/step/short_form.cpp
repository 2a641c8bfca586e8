// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <list>
#include <span>
#include <step/helpers.hpp>
#include <type_traits>

namespace {

template <auto... Entries>
using composition = typename hs::recipe<Entries...>::composition;
template <class Composition>
using storage = typename Composition::template plan<0>::storage;

// What a recipe of one dtype and one rule stands for.
static_assert(std::is_same_v<composition<hs::fp16{}, hs::adamw{}>::scaling, hs::dynamic_scaling>);
static_assert(std::is_same_v<composition<hs::fp8_e4m3{}, hs::adamw{}>::scaling, hs::dynamic_scaling>);
static_assert(std::is_same_v<composition<hs::fp8_e5m2{}, hs::adamw{}>::scaling, hs::dynamic_scaling>);
static_assert(std::is_same_v<composition<hs::bf16{}, hs::adamw{}>::scaling, hs::no_scaling>);
static_assert(std::is_same_v<composition<hs::dtype<float>{}, hs::adamw{}>::scaling, hs::no_scaling>);
static_assert(std::is_same_v<storage<composition<hs::fp16{}, hs::adamw{}>>, hs::fp32_master>);
static_assert(std::is_same_v<storage<composition<hs::bf16{}, hs::adamw{}>>, hs::fp32_master>);
static_assert(std::is_same_v<storage<composition<hs::dtype<float>{}, hs::adamw{}>>, hs::in_place>);
static_assert(std::is_same_v<composition<hs::fp16{}>,
                             composition<hs::fp16{}, hs::adamw{}, hs::nonfinite_check{}, hs::no_clipping{},
                                         hs::replicated{}, hs::fp32_state<>{}, hs::no_telemetry{}>>);
// The scale is for gradients: of fp16 gradients of floats there is one, of float gradients of fp16 parameters there is
// none.
static_assert(std::is_same_v<composition<hs::group<hs::everything, float, hs::fp16>{}>::scaling, hs::dynamic_scaling>);
static_assert(std::is_same_v<composition<hs::group<hs::everything, hs::fp16, float>{}>::scaling, hs::no_scaling>);

}  // namespace

TEST_CASE("one dtype, one rule, one line", "[step]") {
    hs::optimizer_step opt{hs::recipe<hs::fp16{}, hs::adamw{}>{}};
    std::vector<hs::fp16> parameters(10, hs::fp16(1.0f)), gradients(10, hs::fp16(0.5f));
    opt.bind(parameters, gradients);
    REQUIRE(opt.loss_scale() == 65536);
    const hs::step_record record = opt.step(0.1f);
    REQUIRE(record);
    REQUIRE(record.applied_steps == 1);
    // The first step of AdamW moves by the learning rate, after a decay of lr · 0.01.
    for (auto p : parameters) REQUIRE(p == hs::fp16(1 - 0.1f * 0.01f - 0.1f));
}

namespace {

/// The parameters 1, 1, 1 and gradients 1, 2, 3, bound as `bind` sees fit, after a step of plain descent.
template <class Bind>
std::vector<float> after_step(Bind&& bind) {
    std::vector<float> parameters{1, 1, 1};
    const std::vector<float> gradients{1, 2, 3};
    hs::optimizer_step opt{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}>{}};
    bind(opt, parameters, gradients);
    opt.step(0.25f);
    return parameters;
}

}  // namespace

TEST_CASE("tensors come as what the caller has", "[step]") {
    const std::vector<float> expected{0.75f, 0.5f, 0.25f};
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) { opt.bind(p, g); }) == expected);
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) { opt.bind(std::span(p), std::span(g)); }) == expected);
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) {
                opt.bind(hs::tensor_view<float>(p.data(), {1, 3}), hs::tensor_view<float const>(g.data(), {3, 1}));
            }) == expected);
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) {
                std::list<std::span<float>> parts{std::span(p).first(1), std::span(p).last(2)};
                opt.bind(parts, std::array{std::span(g).first(1), std::span(g).last(2)});
            }) == expected);
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) {
                const std::array parts{hs::tensor_view<float>(p.data(), {2}), hs::tensor_view<float>(p.data() + 2, {})};
                opt.bind(parts, std::vector{hs::tensor_view<float const>(g.data(), {2}),
                                            hs::tensor_view<float const>(g.data() + 2, {})});
            }) == expected);
    REQUIRE(after_step([](auto& opt, auto& p, auto& g) {
                opt.template bind<hs::everything>(p, g);  // the name of a recipe's only group
            }) == expected);
}

TEST_CASE("the order of a recipe and of what is given at construction makes no difference", "[step]") {
    const auto run = [](auto&&... construction) {
        auto parameters = values<hs::bf16>(300, 1), gradients = values<hs::bf16>(300, 2);
        hs::optimizer_step opt{std::forward<decltype(construction)>(construction)...};
        opt.bind(parameters, gradients);
        for (int s = 0; s < 3; ++s) opt.step(0.05f);
        auto bytes = state_of(opt);
        for (auto p : parameters) bytes.push_back(static_cast<std::byte>(p.bits & 0xFF));
        return bytes;
    };
    using forwards =
        hs::recipe<hs::bf16{}, hs::adamw{.weight_decay = 0.5f}, hs::clip_by_norm{.max_norm = 2}, hs::kahan{}>;
    using backwards =
        hs::recipe<hs::kahan{}, hs::clip_by_norm{.max_norm = 2}, hs::adamw{.weight_decay = 0.5f}, hs::bf16{}>;
    using otherwise = hs::recipe<hs::kahan{}, hs::clip_by_norm{}, hs::adamw{}, hs::bf16{}>;
    const auto expected = run(forwards{});
    REQUIRE((run(backwards{}) == expected));
    REQUIRE((run(otherwise{}) != expected));
    constexpr hs::adamw rule{.weight_decay = 0.5f};
    constexpr hs::clip_by_norm clipping{.max_norm = 2};
    REQUIRE((run(otherwise{}, rule, clipping, hs::host_backend{.threads = 1}, hs::self{}) == expected));
    REQUIRE((run(otherwise{}, hs::self{}, clipping, hs::host_backend{.threads = 1}, rule) == expected));
}
