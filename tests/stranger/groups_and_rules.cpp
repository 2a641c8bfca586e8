// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <stranger/fixture.hpp>
#include <stranger/policies.hpp>

namespace hs = halfstep;

TEST_CASE("a parameter group of one's own brings its dtypes and its factor", "[stranger]") {
    fixture::tensors<float, hs::bf16> t;
    const auto before = t.parameters;
    hs::optimizer_step step{hs::recipe<lab::table{}, hs::sgd<>{}>{}};
    step.bind<lab::table::tag>(t.parameters, t.gradients);
    t.backward(0);
    REQUIRE(step.step(0.25f).applied);
    int moved = 0;
    for (std::size_t k = 0; k < before.size(); ++k)
        for (std::size_t i = 0; i < before[k].size(); ++i) {
            const float expected = before[k][i] - 0.125f * hs::widen(t.gradients[k][i]);  // dyadic: exact
            if (t.parameters[k][i] != expected) FAIL("tensor " << k << " element " << i);
            moved += t.parameters[k][i] != before[k][i];
        }
    REQUIRE(moved > 8000);
    REQUIRE(step.state_bytes<lab::table::tag>() == 0);
}

TEST_CASE("a rule of one's own runs on lanes, or float by float, with the same bits", "[stranger]") {
    const auto generic = fixture::bytes_after_steps<hs::bf16, hs::bf16>(fixture::not_a_number,
                                                                        hs::recipe<hs::bf16{}, lab::sign_descent{}>{});
    const auto plain = fixture::bytes_after_steps<hs::bf16, hs::bf16>(
        fixture::not_a_number, hs::recipe<hs::bf16{}, lab::plain_sign_descent{}>{});
    REQUIRE((generic == plain));
}

TEST_CASE("a rule of one's own does what it says", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, lab::plain_sign_descent{.memory = 0.5f}>{}};
    step.bind(t.parameters, t.gradients);
    t.last_parameter() = 4;
    for (const float g : {1.0f, -0.25f, -1.0f}) {  // means 0.5, 0.125, -0.4375
        t.last_gradient() = g;
        step.step(0.5f);
    }
    REQUIRE(t.last_parameter() == 4 - 0.5f - 0.5f + 0.5f);
}

TEST_CASE("a rule without moments hears the number of the step", "[stranger]") {
    fixture::tensors<float> t;
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, lab::plain_descent{}>{}};
    step.bind(t.parameters, t.gradients);
    t.last_parameter() = 4;
    t.last_gradient() = 1;
    step.step(1.0f);
    step.step(1.0f);
    t.last_gradient() = fixture::not_a_number;
    step.step(1.0f);  // skipped: not counted
    t.last_gradient() = 3;
    step.step(1.0f);
    REQUIRE(t.last_parameter() == 4 - 1 - 0.5f - 1);
    REQUIRE(step.state_bytes<hs::everything>() == 0);
}
