// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <stranger/fixture.hpp>
#include <stranger/machine.hpp>
#include <stranger/policies.hpp>

namespace hs = halfstep;

namespace {

/// A policy of one's own in every slot of a recipe. The group's parameters are floats, so the storage is on the other
/// group.
struct words;
using everything_of_ones_own =
    hs::recipe<lab::table{}, hs::group<words, hs::bf16>{}, lab::plain_sign_descent{},
               lab::climbing_scaling{.start = 16}, lab::bound_check{.bound = 1000}, lab::soft_clip{},
               hs::on<words, lab::chopped{}, lab::bf16_state{}>{}, lab::flat_split{}, lab::diary{}>;

}  // namespace

TEST_CASE("a diary of one's own hears of every step in order", "[stranger]") {
    std::vector<hs::step_record> pages;
    fixture::tensors<hs::fp16> t;
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::sgd<>{}, lab::diary{}>{}, lab::diary{.pages = &pages}};
    step.bind(t.parameters, t.gradients);
    step.step({.lr = 0.5f, .loss = 3});
    t.last_gradient() = hs::fp16(fixture::not_a_number);
    step.step(0.25f);
    REQUIRE(pages.size() == 2);
    REQUIRE(pages[0].step == 1);
    REQUIRE(pages[0].applied);
    REQUIRE(pages[0].lr == 0.5f);
    REQUIRE(pages[0].loss == 3);
    REQUIRE(pages[1].step == 2);
    REQUIRE_FALSE(pages[1].applied);
    REQUIRE(pages[1].loss_scale == 65536);
    REQUIRE(pages[1].next_loss_scale == 32768);
    REQUIRE(pages[1].skipped_steps == 1);
}

TEST_CASE("policies of one's own for every slot go together, on a machine of one's own", "[stranger]") {
    std::vector<hs::step_record> pages;
    lab::meeting_point alone(1);
    fixture::tensors<float, hs::bf16> rows;
    fixture::tensors<hs::bf16> others;
    hs::optimizer_step step{everything_of_ones_own{}, lab::serial_backend{}, lab::thread_rank(alone, 0),
                            lab::diary{.pages = &pages}};
    step.bind<lab::table::tag>(rows.parameters, rows.gradients);
    step.bind<words>(others.parameters, others.gradients);

    hs::optimizer_step stock{everything_of_ones_own{}};
    fixture::tensors<float, hs::bf16> stock_rows;
    fixture::tensors<hs::bf16> stock_others;
    stock.bind<lab::table::tag>(stock_rows.parameters, stock_rows.gradients);
    stock.bind<words>(stock_others.parameters, stock_others.gradients);

    const auto first_rows = rows.parameters;
    const auto first_others = others.parameters;
    for (std::size_t s = 0; s < 4; ++s) {
        for (auto* t : {&rows, &stock_rows}) t->backward(s, step.loss_scale());
        for (auto* t : {&others, &stock_others}) t->backward(s + 9, step.loss_scale());
        if (s == 1) rows.last_gradient() = stock_rows.last_gradient() = hs::bf16(-2000.0f);
        const auto record = step.step(0.125f);
        REQUIRE(record.applied == (s != 1));
        REQUIRE(stock.step(0.125f).applied == record.applied);
        REQUIRE(stock.loss_scale() == step.loss_scale());
    }
    REQUIRE(step.loss_scale() == 16 * 1.5f / 4 * 1.5f * 1.5f);
    REQUIRE(pages.size() == 4);
    REQUIRE((fixture::bytes_of(rows, step) == fixture::bytes_of(stock_rows, stock)));
    REQUIRE((others.parameters == stock_others.parameters));
    REQUIRE((rows.parameters != first_rows));
    REQUIRE((others.parameters != first_others));
    REQUIRE(step.state_bytes<lab::table::tag>() == 4);
    REQUIRE(step.state_bytes<words>() == 2);
}
