// SPDX-License-Identifier: Apache-2.0
// Types select code, values are data: what differs in order or in numbers alone is one instantiation.
#include <catch.hpp>
#include <stranger/policies.hpp>
#include <type_traits>

namespace hs = halfstep;

namespace {

struct body;
struct head;

template <auto... Entries>
using composition = typename hs::recipe<Entries...>::composition;
template <class A, class B>
inline constexpr bool same = std::is_same_v<A, B>;

using one = composition<hs::fp16{}, hs::adamw{}, hs::clip_by_norm{}, hs::norm_check{}>;

static_assert(same<one, composition<hs::norm_check{}, hs::clip_by_norm{}, hs::adamw{}, hs::fp16{}>>);
static_assert(same<one, composition<hs::adamw{.beta1 = 0.5f, .weight_decay = 0}, hs::fp16{}, hs::norm_check{},
                                    hs::clip_by_norm{.max_norm = 9}>>);
static_assert(same<one, composition<hs::dtype<hs::fp16>{}, hs::clip_by_norm{}, hs::adamw{}, hs::norm_check{},
                                    hs::dynamic_scaling{.growth_interval = 7}, hs::fp32_master{}, hs::no_telemetry{}>>);
static_assert(same<one, composition<hs::group<hs::everything, hs::fp16>{.lr_factor = 2}, hs::clip_by_norm{},
                                    hs::adamw{}, hs::norm_check{}, hs::accept_underflow{}>>);
static_assert(!same<one, composition<hs::fp16{}, hs::adam{}, hs::clip_by_norm{}, hs::norm_check{}>>);
static_assert(!same<one, composition<hs::bf16{}, hs::adamw{}, hs::clip_by_norm{}, hs::norm_check{}>>);

using two = composition<hs::group<body, hs::bf16>{}, hs::group<head, float>{}, hs::lion{}, hs::on<body, hs::kahan{}>{}>;
static_assert(same<two, composition<hs::on<body, hs::kahan{}>{}, hs::lion{.beta1 = 0.8f}, hs::group<body, hs::bf16>{},
                                    hs::group<head, float>{.weight_decay_factor = 0}>>);
static_assert(same<two, composition<hs::group<body, hs::bf16>{}, hs::group<head, float>{}, hs::lion{},
                                    hs::on<body, hs::kahan{}, hs::lion{.weight_decay = 1}>{}>>);

// The same for policies of one's own.
using own = composition<hs::fp16{}, lab::sign_descent{}, lab::climbing_scaling{}, lab::bound_check{}>;
static_assert(same<own, composition<lab::bound_check{.bound = 3}, lab::climbing_scaling{.limit = 0}, hs::fp16{},
                                    lab::sign_descent{.memory = 0}>>);

/// And so of whole steps, which is what the loops are instantiated for.
template <auto... Entries>
using step = decltype(hs::optimizer_step{hs::recipe<Entries...>{}});
static_assert(same<step<hs::fp16{}, hs::adamw{}>, step<hs::adamw{.eps = 1e-4f}, hs::fp16{}>>);

}  // namespace

TEST_CASE("the values of a recipe are kept, whatever its type", "[stranger]") {
    using recipe = hs::recipe<hs::adamw{.eps = 1e-4f}, hs::fp16{}, hs::clip_by_norm{.max_norm = 9}>;
    STATIC_REQUIRE(recipe::value<hs::adamw>().eps == 1e-4f);
    STATIC_REQUIRE(recipe::value<hs::clip_by_norm>().max_norm == 9);
    STATIC_REQUIRE(recipe::value<hs::dynamic_scaling>().growth_interval == hs::dynamic_scaling{}.growth_interval);

    using grouped = hs::recipe<hs::group<body, hs::bf16>{}, hs::group<head, float>{}, hs::lion{.beta1 = 0.5f},
                               hs::on<head, hs::lion{.beta1 = 0.25f}>{}>;
    STATIC_REQUIRE(grouped::group_value<hs::lion, body>().beta1 == 0.5f);
    STATIC_REQUIRE(grouped::group_value<hs::lion, head>().beta1 == 0.25f);
}
