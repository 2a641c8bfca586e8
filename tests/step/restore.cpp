// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch.hpp>
#include <cstring>
#include <step/helpers.hpp>

namespace {

struct body;
struct head;

/// What a checkpoint of a run holds: parameters, and all that `visit_state` shows, in its order.
struct checkpoint {
    std::vector<hs::bf16> body_weights;
    std::vector<float> head_weights;
    std::vector<std::vector<std::byte>> state;
};

template <class Recipe>
class run {
  public:
    run() { bind(); }
    explicit run(checkpoint const& from) : body_(from.body_weights), head_(from.head_weights) {
        bind();
        std::size_t i = 0;
        step_.visit_state([&](hs::state_entry const& e) {
            REQUIRE(e.bytes.size() == from.state.at(i).size());
            std::memcpy(e.bytes.data(), from.state[i].data(), e.bytes.size());
            ++i;
        });
        REQUIRE(i == from.state.size());
    }
    checkpoint save() {
        checkpoint c{body_, head_, {}};
        step_.visit_state([&](hs::state_entry const& e) { c.state.emplace_back(e.bytes.begin(), e.bytes.end()); });
        return c;
    }
    hs::step_record advance(int s) {
        std::ranges::copy(values<hs::bf16>(300, static_cast<std::size_t>(s)), body_gradients_.begin());
        std::ranges::copy(values<float>(77, static_cast<std::size_t>(s) + 50), head_gradients_.begin());
        if (s % 4 == 3) body_gradients_[123] = hs::bf16(inf);
        // The second tensor of the head has a gradient on some steps only.
        step_.template bind_gradients<head>(gradients_of_head(s % 3 != 1));
        return step_.step(0.01f);
    }
    float loss_scale() const { return step_.loss_scale(); }

  private:
    std::array<hs::tensor_view<float const>, 2> gradients_of_head(bool both) const {
        return {hs::tensor_view<float const>(head_gradients_.data(), {40}),
                hs::tensor_view<float const>(both ? head_gradients_.data() + 40 : nullptr, {37})};
    }
    void bind() {
        step_.template bind<body>(body_, body_gradients_);
        step_.template bind<head>(
            std::array{hs::tensor_view<float>(head_.data(), {40}), hs::tensor_view<float>(head_.data() + 40, {37})},
            gradients_of_head(true));
    }

    std::vector<hs::bf16> body_ = values<hs::bf16>(300, 1000), body_gradients_ = values<hs::bf16>(300, 1);
    std::vector<float> head_ = values<float>(77, 1001), head_gradients_ = values<float>(77, 2);
    hs::optimizer_step<typename Recipe::composition> step_{Recipe{}};
};

/// A run that is saved and restored after any of its steps ends with the bytes and the records of one that never
/// stopped.
template <class Recipe>
void resumes() {
    constexpr int steps = 12;
    run<Recipe> whole;
    std::vector<hs::step_record> records;
    std::vector<checkpoint> saved;
    for (int s = 0; s < steps; ++s) {
        saved.push_back(whole.save());
        records.push_back(whole.advance(s));
    }
    const auto end = whole.save();
    REQUIRE(records.back().skipped_steps == 3);
    for (int stop = 0; stop < steps; ++stop) {
        INFO("restored before step " << stop);
        run<Recipe> rest(saved[static_cast<std::size_t>(stop)]);
        for (int s = stop; s < steps; ++s) {
            REQUIRE(rest.loss_scale() == records[static_cast<std::size_t>(s)].loss_scale);
            const auto record = rest.advance(s);
            auto const& expected = records[static_cast<std::size_t>(s)];
            REQUIRE(record.step == expected.step);
            REQUIRE(record.applied == expected.applied);
            REQUIRE(record.applied_steps == expected.applied_steps);
            REQUIRE(record.next_loss_scale == expected.next_loss_scale);
        }
        const auto restored = rest.save();
        REQUIRE(restored.body_weights == end.body_weights);
        REQUIRE(restored.head_weights == end.head_weights);
        for (std::size_t i = 1; i < end.state.size(); ++i) REQUIRE((restored.state[i] == end.state[i]));  // 0: control
    }
}

using hs::group;

}  // namespace

TEST_CASE("a run goes on from its saved state as if it had never stopped", "[step]") {
    resumes<hs::recipe<group<body, hs::bf16>{}, group<head, float>{}, hs::adamw{}, hs::clip_by_norm{.max_norm = 5},
                       hs::hysteresis_scaling<>{.initial_scale = 64, .growth_interval = 2}>>();
}
TEST_CASE("so does one with random rounding, and one with compensation", "[step]") {
    resumes<hs::recipe<group<body, hs::bf16>{}, group<head, float>{}, hs::lion{},
                       hs::on<body, hs::stochastic_rounding{.seed = 8}>{},
                       hs::dynamic_scaling{.initial_scale = 4, .growth_interval = 3}>>();
    resumes<hs::recipe<group<body, hs::bf16>{}, group<head, float>{}, hs::sgd<hs::nesterov>{},
                       hs::on<body, hs::kahan{}>{}>>();
}

TEST_CASE("a micro-batch that overflowed is part of the saved state", "[step]") {
    std::vector<hs::fp16> p(4, hs::fp16(1.0f)), g(4, hs::fp16(inf));
    hs::optimizer_step step{hs::recipe<hs::fp16{}, hs::sgd<>{}>{}}, other{hs::recipe<hs::fp16{}, hs::sgd<>{}>{}};
    step.bind(p, g);
    other.bind(p, g);
    step.inspect_micro_batch();
    g.assign(4, hs::fp16(1.0f));
    std::vector<std::byte> control;
    step.visit_state([&](hs::state_entry const& e) {
        if (e.component == "control") control.assign(e.bytes.begin(), e.bytes.end());
    });
    other.visit_state([&](hs::state_entry const& e) {
        if (e.component == "control") std::memcpy(e.bytes.data(), control.data(), control.size());
    });
    REQUIRE_FALSE(other.step(0.1f).applied);
}

TEST_CASE("visit_state names what it shows, in one order", "[step]") {
    std::vector<hs::bf16> p = values<hs::bf16>(30, 1), g = p;
    std::vector<float> q = values<float>(5, 1), h = q;
    using recipe = hs::recipe<group<body, hs::bf16>{}, group<head, float>{}, hs::adamw{}, hs::on<head, hs::sgd<>{}>{}>;
    hs::optimizer_step step{recipe{}};
    step.bind<body>(std::array{hs::tensor_view<hs::bf16>(), hs::tensor_view<hs::bf16>(p)},
                    std::array{hs::tensor_view<hs::bf16 const>(), hs::tensor_view<hs::bf16 const>(g)});
    step.bind<head>(q, h);
    std::vector<std::string> seen;
    step.visit_state([&](hs::state_entry const& e) {
        seen.push_back(std::string(e.group) + " " + std::to_string(e.tensor) + " " + std::string(e.component) + " " +
                       std::to_string(e.number) +
                       (e.component == "control" ? "" : " " + std::to_string(e.bytes.size())));
    });
    REQUIRE(seen == std::vector<std::string>{" 0 control 0", "body 1 companion 0 120", "body 1 moment 0 120",
                                             "body 1 moment 1 120", "body 1 missed_steps 0 8",
                                             "head 0 missed_steps 0 8"});
}
