// SPDX-License-Identifier: Apache-2.0
// torch.amp.GradScaler: scale, growth tracker and skips agree exactly, but where it is at fault.
#include <algorithm>
#include <catch.hpp>
#include <cmath>

#include "scale_replay.hpp"
#include "trace.hpp"

using namespace oracle;
using halfstep::dynamic_scaling;

namespace {

dynamic_scaling scaling_of(trace_case const& c) {
    dynamic_scaling s;
    s.initial_scale = c.real("init_scale");
    s.growth_factor = c.real("growth_factor");
    s.backoff_factor = c.real("backoff_factor");
    s.growth_interval = static_cast<int>(c.number("growth_interval"));
    return s;
}

/// The step at which the run first differs from the trace in scale, tracker or verdict; -1 if nowhere.
int first_difference(trace_case const& c, scaled_run<dynamic_scaling>& run) {
    auto const& gradients = c.word("gradients");
    auto const& applied = c.word("applied");
    const auto scales = c.numbers("scale"), trackers = c.numbers("tracker");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const auto record = run.step(gradients[i]);
        if (record.applied != (applied.at(i) == '1') || static_cast<double>(run.scale()) != scales.at(i) ||
            static_cast<double>(run.control().scaling.clean_steps) != trackers.at(i))
            return static_cast<int>(i);
    }
    return -1;
}

}  // namespace

TEST_CASE("dynamic_scaling goes through GradScaler's scales, trackers and skips, step by step", "[oracle][scaling]") {
    int cases = 0;
    for (auto const& c : read_trace("grad_scaler")) {
        // The faults below; interval_lowered_before is the start of one.
        if (c.name == "floor" || c.name == "interval_lowered_after" || c.name == "found_inf_two") continue;
        CAPTURE(c.name);
        scaled_run<dynamic_scaling> run(scaling_of(c));
        CHECK(first_difference(c, run) == -1);
        auto const& applied = c.word("applied");
        CHECK(run.applied() == std::count(applied.begin(), applied.end(), '1'));
        ++cases;
    }
    CHECK(cases == 8);
}

TEST_CASE("an interval below the count stops GradScaler's growth for good; here the next clean step grows",
          "[oracle][scaling]") {
    auto const& before = find_case("grad_scaler", "interval_lowered_before");
    auto const& after = find_case("grad_scaler", "interval_lowered_after");
    scaled_run<dynamic_scaling> run(scaling_of(before));
    REQUIRE(first_difference(before, run) == -1);
    auto lower = scaling_of(before);
    lower.growth_interval = static_cast<int>(after.number("growth_interval"));
    scaled_run<dynamic_scaling> resumed(lower);
    resumed.restore(run.control());
    REQUIRE(resumed.scale() == 0x1p16f);

    const auto scales = after.numbers("scale");
    CHECK(std::count(scales.begin(), scales.end(), 0x1p16) == static_cast<std::ptrdiff_t>(scales.size()));
    std::vector<float> ours;
    for (char what : after.word("gradients")) {
        resumed.step(what);
        ours.push_back(resumed.scale());
    }
    CHECK(ours.at(0) == 0x1p17f);
    CHECK(ours.at(2) == 0x1p17f);
    CHECK(ours.at(3) == 0x1p18f);
}

TEST_CASE("166 overflows take GradScaler's scale to 0 and its parameters to NaN; here both stay finite",
          "[oracle][scaling]") {
    auto const& c = find_case("grad_scaler", "floor");
    const auto scales = c.numbers("scale");
    REQUIRE(scales.at(164) > 0);
    REQUIRE(scales.at(165) == 0);
    const auto lost = c.final.tensors("parameter").at(0).as<float>();
    REQUIRE((std::isnan(lost.at(0)) && std::isnan(lost.at(1))));

    scaled_run<dynamic_scaling> run(scaling_of(c));
    auto const& gradients = c.word("gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        CHECK_FALSE(run.step(gradients[i]).applied);
        const double floor = 0x1p-127;
        if (static_cast<double>(run.scale()) != std::max(scales[i], floor))
            FAIL("step " << i << ": scale " << run.scale());
    }
    CHECK(std::isfinite(1 / run.scale()));
    // A clean gradient that underflowed to 0, as that of torch: the parameter stays as it was.
    run.set_gradient(0);
    CHECK(run.step_with(1.0f).applied);
    CHECK(run.parameter() == std::vector<halfstep::fp16>(2, halfstep::fp16(0.0f)));
}

TEST_CASE("two flags add up to a step that torch's fused kernel takes; here a flag is a flag", "[oracle][scaling]") {
    auto const& c = find_case("grad_scaler", "found_inf_two");
    REQUIRE(c.steps.at(1).number("count") == 1);  // one flag: skipped
    REQUIRE(c.steps.at(2).number("count") == 0);  // two: taken, and the count goes back
    REQUIRE(std::isnan(c.steps.at(2).tensors("parameter").at(0).as<float>().at(1)));

    struct left;
    struct right;
    using recipe = halfstep::recipe<halfstep::group<left, float>{}, halfstep::group<right, float>{}, halfstep::adamw{}>;
    halfstep::optimizer_step step{recipe{}};
    std::vector<float> p(2, 1.0f), q(2, 1.0f), g(2), h(2);
    step.bind<left>(p, g);
    step.bind<right>(q, h);
    for (auto const& s : c.steps) {
        const auto gradient = s.tensors("gradient").at(0).as<float>();
        std::copy(gradient.begin(), gradient.end(), g.begin());
        std::copy(gradient.begin(), gradient.end(), h.begin());
        step.step(c.real("lr"));
    }
    CHECK(step.applied_steps() == 1);
    CHECK(step.skipped_steps() == 2);
    const auto first = c.steps.at(0).tensors("parameter").at(0).as<float>();
    CHECK(p == first);
    CHECK(q == first);
}
