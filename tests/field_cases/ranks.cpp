// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch.hpp>
#include <cmath>
#include <cstdint>
#include <field_cases/layouts.hpp>
#include <field_cases/ranks.hpp>
#include <field_cases/saved_state.hpp>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <vector>

namespace hs = halfstep;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// What one rank saw of a few steps.
struct seen {
    std::vector<bool> applied, flagged;
    std::vector<float> scales;
    std::int64_t applied_steps = 0, skipped_steps = 0;
    std::vector<float> parameter;
    double norm = 0;
    friend bool operator==(seen const&, seen const&) = default;
};

/// Four ranks make a clean step, one in which rank 2 alone has a NaN, and a clean one.
template <class Recipe>
std::vector<seen> four_ranks(Recipe) {
    ranks::world everyone(4);
    std::vector<seen> result(4);
    ranks::run(everyone, [&](ranks::member self) {
        std::vector<float> parameter{1, 2}, gradient(2);
        hs::optimizer_step step{Recipe{}, self};
        step.bind(parameter, gradient);
        seen& mine = result[static_cast<std::size_t>(self.rank())];
        for (int i = 0; i < 3; ++i) {
            gradient.assign(2, step.loss_scale() * 0.5f);
            if (i == 1 && self.rank() == 2) gradient[1] = not_a_number;
            mine.applied.push_back(step.step(0.5f).applied);
            mine.flagged.push_back(step.template report<hs::everything>().flagged);
            mine.scales.push_back(step.loss_scale());
        }
        mine.applied_steps = step.applied_steps();
        mine.skipped_steps = step.skipped_steps();
        mine.parameter = parameter;
    });
    CHECK(everyone.calls == std::vector<int>(4, everyone.calls[0]));
    CHECK(everyone.calls[0] >= 3);
    return result;
}

constexpr hs::dynamic_scaling from_2{.initial_scale = 2, .backoff_factor = 0.5f};

}  // namespace

TEST_CASE("2.2 One rank's overflow is everybody's overflow") {
    const seen right{{true, false, true}, {false, true, false}, {2, 1, 1}, 2, 1, {0.5f, 1.5f}, 0};
    // Reduced gradients carry the NaN to everybody; the verdict must agree also where gradients stay with their ranks.
    for (seen const& rank : four_ranks(hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, from_2>{})) CHECK(rank == right);
    for (seen const& rank :
         four_ranks(hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, from_2, layouts::own_parameters{}>{}))
        CHECK(rank == right);
    seen by_norm = right;
    by_norm.flagged.assign(3, false);  // norm_check looks at no element
    for (seen const& rank :
         four_ranks(hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, from_2, layouts::own_parameters{}, hs::norm_check{}>{}))
        CHECK(rank == by_norm);
}

TEST_CASE("2.2 One rank's overflow is everybody's overflow: in a micro-batch") {
    ranks::world everyone(4);
    std::vector<seen> result(4);
    ranks::run(everyone, [&](ranks::member self) {
        std::vector<float> parameter{1, 2}, gradient{1, 1};
        hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, from_2, layouts::own_parameters{}>{}, self};
        step.bind(parameter, gradient);
        if (self.rank() == 2) gradient[0] = not_a_number;
        step.inspect_micro_batch();
        gradient[0] = 1;
        seen& mine = result[static_cast<std::size_t>(self.rank())];
        for (int i = 0; i < 2; ++i) mine.applied.push_back(step.step(0.5f).applied);
        mine.scales.push_back(step.loss_scale());
    });
    for (seen const& rank : result) {
        CHECK(rank.applied == std::vector{false, true});
        CHECK(rank.scales == std::vector<float>{1});
    }
}

TEST_CASE("3.3 Empty groups count steps too") {
    using recipe = hs::recipe<hs::dtype<float>{}, hs::adam{}, layouts::own_parameters{}>;
    const auto gradient_of = [](int step) { return std::vector<float>{0.5f, static_cast<float>(step) - 2}; };

    std::vector<float> uninterrupted{1, 2};
    {
        std::vector<float> gradient(2);
        hs::optimizer_step step{recipe{}};
        step.bind(uninterrupted, gradient);
        for (int i = 0; i < 6; ++i) {
            gradient = gradient_of(i);
            step.bind_gradients(gradient);
            step.step(0.1f);
        }
    }

    std::vector<float> parameter{1, 2};
    std::vector<std::vector<saved_entry>> saved(2);
    std::vector<std::int64_t> counts(2);
    {
        ranks::world everyone(2);
        ranks::run(everyone, [&](ranks::member self) {
            std::vector<std::vector<float>> parameters, gradients;
            if (self.rank() == 0) parameters = {parameter}, gradients = {gradient_of(0)};
            hs::optimizer_step step{recipe{}, self};
            step.bind(parameters, gradients);
            for (int i = 0; i < 5; ++i) {
                if (self.rank() == 0) std::ranges::copy(gradient_of(i), gradients[0].begin());
                step.step(0.1f);
            }
            saved[static_cast<std::size_t>(self.rank())] = saved_state(step);
            counts[static_cast<std::size_t>(self.rank())] = step.applied_steps();
            if (self.rank() == 0) parameter = parameters[0];
        });
    }
    CHECK(counts == std::vector<std::int64_t>{5, 5});

    std::vector<std::int64_t> next(2);
    {
        ranks::world everyone(2);
        ranks::run(everyone, [&](ranks::member self) {  // rank 1 holds the parameters now
            std::vector<std::vector<float>> parameters, gradients;
            if (self.rank() == 1) parameters = {parameter}, gradients = {gradient_of(5)};
            hs::optimizer_step step{recipe{}, self};
            step.bind(parameters, gradients);
            restore_state(step, saved[static_cast<std::size_t>(1 - self.rank())]);
            next[static_cast<std::size_t>(self.rank())] = step.step(0.1f).applied_steps;
            if (self.rank() == 1) parameter = parameters[0];
        });
    }
    CHECK(next == std::vector<std::int64_t>{6, 6});
    CHECK(parameter == uninterrupted);
}

namespace {

/// The norm that two ranks report, each with two parameters whose squared gradients add up to 800; and what their
/// parameters become.
template <class Layout>
std::vector<seen> two_copies(Layout) {
    ranks::world everyone(2);
    std::vector<seen> result(2);
    ranks::run(everyone, [&](ranks::member self) {
        std::vector<float> parameter{0, 0}, gradient{20, 20};
        hs::optimizer_step step{
            hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, Layout{}, hs::clip_by_norm{.max_norm = 1}, hs::norm_check{}>{},
            self};
        step.bind(parameter, gradient);
        seen& mine = result[static_cast<std::size_t>(self.rank())];
        mine.norm = step.step(1).gradient_norm;
        mine.parameter = parameter;
    });
    return result;
}

}  // namespace

TEST_CASE("4.4 Replicated parameters count once in the norm") {
    const double norm = std::sqrt(800.0);
    const float clipped = static_cast<float>(-20 / (norm + 1e-6));
    for (auto const& results : {two_copies(hs::replicated{}), two_copies(layouts::first_copy_counts{})})
        for (seen const& rank : results) {
            CHECK(rank.norm == norm);
            CHECK(rank.parameter[0] == Approx(clipped).epsilon(1e-7));
            CHECK(rank.parameter[0] == rank.parameter[1]);
        }
    // Parameters that are cut over the ranks count once as well: each rank adds the squares of its own.
    for (seen const& rank : two_copies(layouts::flat_split{})) CHECK(rank.norm == norm);
}
