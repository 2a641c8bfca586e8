// SPDX-License-Identifier: Apache-2.0
#include <catch.hpp>
#include <exception>
#include <stranger/fixture.hpp>
#include <stranger/machine.hpp>
#include <thread>

namespace hs = halfstep;

namespace {

constexpr int world_size = 2;

/// `f(rank)` on a thread a rank.
template <class F>
void on_every_rank(F&& f) {
    std::vector<std::thread> threads;
    for (int r = 0; r < world_size; ++r) threads.emplace_back([&f, r] { f(r); });
    for (auto& thread : threads) thread.join();
}

/// Gradients whose mean over the ranks is what `t.backward(step)` gives, exactly.
template <class T, class Gradient>
void backward_on(fixture::tensors<T, Gradient>& t, int rank, std::size_t step) {
    t.backward(step);
    const float other = rank == 0 ? 0.5f : 1.5f;
    for (auto& tensor : t.gradients)
        for (auto& g : tensor) g = hs::narrow<Gradient>(hs::widen(g) * other);
}

/// The parameters after four steps: of one rank alone, and of each of two that share the work.
template <class T, class Gradient, class Recipe>
void same_as_alone(Recipe recipe, lab::flat_split split) {
    constexpr std::size_t faulty = 2;
    fixture::tensors<T, Gradient> alone;
    hs::optimizer_step one{recipe};
    one.bind(alone.parameters, alone.gradients);
    std::vector<hs::step_record> records;
    for (std::size_t s = 0; s < 4; ++s) {
        alone.backward(s);
        if (s == faulty) alone.last_gradient() = hs::narrow<Gradient>(fixture::not_a_number);
        records.push_back(one.step(0.125f));
    }
    REQUIRE(records[faulty - 1].applied);
    REQUIRE_FALSE(records[faulty].applied);

    lab::meeting_point point(world_size);
    std::vector<fixture::tensors<T, Gradient>> t(world_size);
    std::vector<std::vector<hs::step_record>> seen(world_size);
    on_every_rank([&](int rank) {
        auto& mine = t[static_cast<std::size_t>(rank)];
        hs::optimizer_step step{recipe, lab::thread_rank(point, rank), split, hs::host_backend{.threads = 1}};
        step.bind(mine.parameters, mine.gradients);
        for (std::size_t s = 0; s < 4; ++s) {
            backward_on(mine, rank, s);
            // Only the rank that does not own the element finds it, until gradients are reduced.
            if (s == faulty && rank == 0) mine.last_gradient() = hs::narrow<Gradient>(fixture::not_a_number);
            seen[static_cast<std::size_t>(rank)].push_back(step.step(0.125f));
        }
    });
    for (int rank = 0; rank < world_size; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        INFO("rank " << rank);
        REQUIRE((t[r].parameters == alone.parameters));
        for (std::size_t s = 0; s < 4; ++s) {
            REQUIRE(seen[r][s].applied == records[s].applied);
            REQUIRE(seen[r][s].next_loss_scale == records[s].next_loss_scale);
            if (s != faulty && records[s].gradient_norm == records[s].gradient_norm)
                REQUIRE(seen[r][s].gradient_norm == records[s].gradient_norm);
        }
    }
}

}  // namespace

TEST_CASE("two ranks that split the parameters end where one alone ends", "[stranger]") {
    // 9306 elements: the cut at 4654 lies inside the last tensor, in the midst of a lane pack.
    same_as_alone<hs::bf16, hs::bf16>(hs::recipe<hs::bf16{}, hs::adamw{}, lab::flat_split{}>{}, lab::flat_split{});
    same_as_alone<hs::bf16, float>(hs::recipe<hs::group<hs::everything, hs::bf16, float>{}, hs::sgd<hs::nesterov>{},
                                              hs::kahan{}, lab::flat_split{}>{},
                                   lab::flat_split{.grain = 64});
}
TEST_CASE("random bits follow the element and not the rank", "[stranger]") {
    same_as_alone<hs::bf16, hs::bf16>(
        hs::recipe<hs::bf16{}, hs::lion{}, hs::stochastic_rounding{.seed = 5}, lab::flat_split{}>{}, lab::flat_split{});
}
TEST_CASE("norms are those of all ranks together", "[stranger]") {
    same_as_alone<hs::bf16, hs::bf16>(
        hs::recipe<hs::bf16{}, hs::sgd<>{}, hs::norm_check{}, hs::clip_by_norm{.max_norm = 3}, lab::flat_split{}>{},
        lab::flat_split{});
}
TEST_CASE("loss scales of all ranks stay the same", "[stranger]") {
    same_as_alone<hs::fp16, hs::fp16>(
        hs::recipe<hs::fp16{}, hs::adamw{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 2},
                   hs::clip_by_value{.max_value = 0.25f}, lab::flat_split{}>{},
        lab::flat_split{});
}

TEST_CASE("each rank keeps state for its own part alone", "[stranger]") {
    lab::meeting_point point(world_size);
    std::vector<std::size_t> moments(world_size);
    on_every_rank([&](int rank) {
        fixture::tensors<float> t;
        hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adamw{}, lab::flat_split{}>{},
                                lab::thread_rank(point, rank)};
        step.bind(t.parameters, t.gradients);
        step.visit_state([&](hs::state_entry const& e) {
            if (e.component == "moment" && e.number == 0) moments[static_cast<std::size_t>(rank)] += e.bytes.size();
        });
    });
    REQUIRE(moments == std::vector<std::size_t>{4654 * 4, 4652 * 4});
}

TEST_CASE("an overflow in a micro-batch of one rank skips the step of all", "[stranger]") {
    lab::meeting_point point(world_size);
    std::vector<int> applied(world_size, -1);
    on_every_rank([&](int rank) {
        fixture::tensors<float> t;
        hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::sgd<>{}, lab::flat_split{}>{},
                                lab::thread_rank(point, rank)};
        step.bind(t.parameters, t.gradients);
        t.backward(0);
        // Micro-batches are looked at before any reduction, each rank at its own part: the end is rank 1's.
        if (rank == 1) t.last_gradient() = fixture::not_a_number;
        step.inspect_micro_batch();
        if (rank == 1) t.last_gradient() = 1;
        const bool first = step.step(0.1f).applied, second = step.step(0.1f).applied;
        applied[static_cast<std::size_t>(rank)] = 2 * first + second;
    });
    REQUIRE(applied == std::vector<int>{1, 1});
}
