// SPDX-License-Identifier: Apache-2.0
// Section 1 and case 9.2 in real steps; tests/scaling has the state machines alone.
#include <catch.hpp>
#include <cstring>
#include <scaling/one_weight.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hs = halfstep;

namespace {

template <class Scaling>
using with = hs::recipe<hs::fp16{}, hs::sgd<>{}, Scaling{}>;

/// The scale after each step of a sequence; every overflow must be skipped and every clean step applied.
template <class Scaling>
std::vector<float> scales(Scaling const& scaling, std::string_view steps) {
    one_weight run(with<Scaling>{}, scaling);
    std::vector<float> result;
    for (char kind : steps) {
        const hs::step_record record = run.step(kind);
        CHECK(record.applied == (kind == '.'));
        CHECK(record.next_loss_scale == run.optimizer().loss_scale());
        result.push_back(record.next_loss_scale);
    }
    return result;
}
using floats = std::vector<float>;

}  // namespace

TEST_CASE("1.1 The scale has a floor, and the floor is configurable") {
    CHECK(scales(hs::dynamic_scaling{.initial_scale = 4, .floor = 1}, "XXX") == floats{2, 1, 1});
    CHECK(scales(hs::hysteresis_scaling<>{.initial_scale = 4, .hysteresis = 1, .floor = 1}, "XXX") == floats{2, 1, 1});
    CHECK(scales(hs::dynamic_scaling{.initial_scale = 1, .floor = 0x1p-5f}, "XXXXXX") ==
          floats{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.03125f});

    const floats falling = scales(hs::dynamic_scaling{.initial_scale = 0x1p-120f}, std::string(40, 'X'));
    CHECK(falling.back() == 0x1p-127f);
    for (float scale : falling) CHECK_FALSE(hs::is_nonfinite(1 / scale));

    // The policy that stops: a clear error, from a step that was skipped like the others.
    one_weight stops(
        with<hs::hysteresis_scaling<>>{},
        hs::hysteresis_scaling<>{.initial_scale = 4, .hysteresis = 1, .floor = 1, .floor_action = hs::at_floor::raise});
    stops.step('X');
    stops.step('X');
    CHECK_THROWS_AS(stops.step('X'), std::runtime_error);
    CHECK(stops.optimizer().skipped_steps() == 3);
    CHECK(stops.weight() == hs::fp16(1.0f));
}

TEST_CASE("1.2 Hysteresis delays the cut, not the skip") {
    const hs::hysteresis_scaling<> scaling{.initial_scale = 65536, .growth_interval = 1000, .hysteresis = 3};
    CHECK(scales(scaling, "XXXX") == floats{65536, 65536, 32768, 16384});

    one_weight run(with<hs::hysteresis_scaling<>>{}, scaling);
    for (int credit : {2, 1, 1, 1}) {
        CHECK_FALSE(run.step('X').applied);
        hs::hysteresis_scaling<>::state state;  // the first member of the control block
        std::memcpy(&state, run.saved().at(0).data(), sizeof state);
        CHECK(state.scale == run.optimizer().loss_scale());
        CHECK(state.credit == credit);
    }
    CHECK(run.optimizer().skipped_steps() == 4);
    // Growth, and nothing less, gives the credit back.
    CHECK(scales(hs::hysteresis_scaling<>{.initial_scale = 8, .growth_interval = 2, .hysteresis = 2}, "X.X..XX") ==
          floats{8, 8, 4, 4, 8, 8, 4});
}

TEST_CASE("1.3 Growth happens on a stated step, to the exact step") {
    const hs::dynamic_scaling plain{.initial_scale = 8, .growth_interval = 3};
    CHECK(scales(plain, "...") == floats{8, 8, 16});
    CHECK(scales(plain, "..X...") == floats{8, 8, 4, 4, 4, 8});
    // DeepSpeed's own count is a type of its own.
    using deepspeed = hs::hysteresis_scaling<hs::refill::on_growth, hs::growth_count::deepspeed>;
    CHECK(scales(deepspeed{.initial_scale = 4, .growth_interval = 1}, "...") == floats{4, 8, 16});
    CHECK(scales(hs::dynamic_scaling{.initial_scale = 4, .growth_interval = 1}, "...") == floats{8, 16, 32});
}

TEST_CASE("9.2 Static scaling is really static") {
    one_weight run(with<hs::static_scaling>{}, hs::static_scaling{.loss_scale = 128});
    for (int step = 0; step <= 2000; ++step) {
        const bool overflow = step == 1000;
        const hs::fp16 before = run.weight();
        const hs::step_record record = run.step(overflow ? 'X' : '.');
        if (record.loss_scale != 128 || record.next_loss_scale != 128 || run.optimizer().loss_scale() != 128)
            FAIL("the scale moved at step " << step);
        if (record.applied == overflow || (overflow && run.weight() != before)) FAIL("at step " << step);
    }
    CHECK(run.optimizer().applied_steps() == 2000);
    CHECK(run.optimizer().skipped_steps() == 1);
}
