// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch.hpp>
#include <cstdint>
#include <scaling/one_weight.hpp>
#include <vector>

namespace hs = halfstep;

namespace {

/// A telemetry that keeps what it hears.
struct listener {
    using slot = hs::telemetry_slot;
    std::vector<hs::step_record>* heard = nullptr;
    struct recorder {
        explicit recorder(listener const& l) : heard(l.heard) {}
        void record(hs::step_record const& s) { heard->push_back(s); }
        std::vector<hs::step_record>* heard;
    };
};

/// Parameters A = B = 1 under adamw; B's gradient is absent in the first of two steps.
class late_parameter {
  public:
    explicit late_parameter(float weight_decay) : step_(recipe{}, hs::adamw{.weight_decay = weight_decay}) {
        step_.bind(std::array{hs::tensor_view<float>(a), hs::tensor_view<float>(b)}, gradients(nullptr));
        step_.step(0.01f);
    }
    void second_step() {
        step_.bind_gradients(gradients(half_.data()));
        step_.step(0.01f);
    }
    std::array<float, 1> a{1}, b{1};

  private:
    using recipe = hs::recipe<hs::dtype<float>{}, hs::adamw{}>;
    std::array<hs::tensor_view<float const>, 2> gradients(float const* of_b) const {
        return {hs::tensor_view<float const>(half_), hs::tensor_view<float const>(of_b, {1})};
    }
    std::array<float, 1> half_{0.5f};
    decltype(hs::optimizer_step{recipe{}}) step_;
};

}  // namespace

TEST_CASE("3.1 The step says whether it was applied") {
    using recipe = hs::recipe<hs::fp16{}, hs::sgd<>{}, hs::dynamic_scaling{}, listener{}>;
    std::vector<hs::step_record> heard;
    one_weight run(recipe{}, hs::dynamic_scaling{.initial_scale = 16}, listener{&heard});
    std::vector<bool> applied;
    std::size_t schedule = 0;
    for (char kind : {'X', '.', '.', 'X', '.'}) {
        if (const auto record = run.step(kind)) ++schedule;
        applied.push_back(run.optimizer().last().applied);
    }
    CHECK(applied == std::vector{false, true, true, false, true});
    CHECK(schedule == 3);
    CHECK(run.optimizer().applied_steps() == 3);
    CHECK(run.optimizer().skipped_steps() == 2);
    REQUIRE(heard.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(heard[i].applied == applied[i]);
        CHECK(heard[i].step == static_cast<std::int64_t>(i) + 1);
    }

    // The scale says nothing about it: at the floor it stays, on growth it moves.
    one_weight at_floor(recipe{}, hs::dynamic_scaling{.initial_scale = 1, .floor = 1}, listener{&heard});
    const hs::step_record skipped = at_floor.step('X');
    CHECK((skipped.loss_scale == 1 && skipped.next_loss_scale == 1));
    CHECK_FALSE(skipped.applied);
    one_weight growing(recipe{}, hs::dynamic_scaling{.initial_scale = 8, .growth_interval = 1}, listener{&heard});
    const hs::step_record grown = growing.step('.');
    CHECK((grown.loss_scale == 8 && grown.next_loss_scale == 16));
    CHECK(grown.applied);
}

TEST_CASE("3.2 A parameter without a gradient is left alone") {
    const auto about = [](float expected) { return Approx(expected).epsilon(0).margin(1.5e-7); };
    late_parameter plain(0);
    CHECK(plain.a[0] == about(0.99f));
    CHECK(plain.b[0] == 1);
    plain.second_step();
    CHECK(plain.a[0] == about(0.98f));
    CHECK(plain.b[0] == about(0.99f));  // one counter for both would give 0.9925586

    late_parameter decayed(0.1f);
    CHECK(decayed.a[0] == about(0.989f));
    CHECK(decayed.b[0] == 1);  // no decay either
    decayed.second_step();
    CHECK(decayed.a[0] == about(0.989f * 0.999f - 0.01f));
    CHECK(decayed.b[0] == about(0.989f));

    // A gradient of zero is a gradient: who wants the flat-buffer behaviour binds one.
    std::array<float, 1> parameter{1}, zero{0};
    hs::optimizer_step step{hs::recipe<hs::dtype<float>{}, hs::adamw{}>{}, hs::adamw{.weight_decay = 0.1f}};
    step.bind(parameter, zero);
    step.step(0.01f);
    CHECK(parameter[0] == about(0.999f));
}
