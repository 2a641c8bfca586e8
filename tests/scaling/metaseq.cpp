// SPDX-License-Identifier: Apache-2.0
// metaseq's scaler, whose window doubles and halves with the scale, as somebody outside the library would write it.
#include <catch.hpp>
#include <scaling/drive.hpp>
#include <scaling/one_weight.hpp>

namespace stranger {

struct metaseq_scaling {
    using slot = halfstep::loss_scaling_slot;
    float initial_scale = 4;
    int initial_window = 256;
    float threshold = 0x1p-5f;  // below it the scale is kept, and steps are still skipped

    struct state {
        float scale = 4;
        int window = 256;
        int steps_since_overflow = 0;
    };
    constexpr state initial() const { return {initial_scale, initial_window, 0}; }
    constexpr float scale(state const& s) const { return s.scale; }
    constexpr void update(state& s, halfstep::gradient_report const& r) const {
        if (r.overflowed) {
            s.steps_since_overflow = 0;
            if (s.scale / 2 >= threshold) s.scale /= 2;
            s.window = s.window > 3 ? s.window / 2 : 1;
        } else if (++s.steps_since_overflow % s.window == 0) {
            s.scale *= 2;
            s.window *= 2;
        }
    }
};
static_assert(halfstep::loss_scaling<metaseq_scaling>);

}  // namespace stranger

TEST_CASE("A stranger's policy follows metaseq's scaler") {
    constexpr stranger::metaseq_scaling from_16{.initial_scale = 16, .initial_window = 3};
    STATIC_REQUIRE(drive::scales(from_16, "X..X....XX......") ==
                   drive::scale_array<16>{8, 16, 32, 16, 16, 32, 32, 64, 32, 16, 16, 32, 32, 64, 64, 64});
}

TEST_CASE("In a real step a stranger's scaling moves as it does alone") {
    using recipe = halfstep::recipe<halfstep::fp16{}, halfstep::sgd<>{}, stranger::metaseq_scaling{16, 3}>;
    one_weight run(recipe{});
    CHECK(run.optimizer().loss_scale() == 16);
    constexpr char steps[] = "X..X....XX......";
    constexpr auto expected = drive::scales(stranger::metaseq_scaling{16, 3}, steps);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO("step " << i);
        const halfstep::step_record record = run.step(steps[i]);
        CHECK(record.applied == (steps[i] == '.'));
        CHECK(record.loss_scale == (i == 0 ? 16 : expected[i - 1]));
        CHECK(record.next_loss_scale == expected[i]);
        CHECK(run.optimizer().loss_scale() == expected[i]);
    }
}
