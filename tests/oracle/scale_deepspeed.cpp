// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's DynamicLossScaler in both modes of its hysteresis: scale, credit and the error at the floor agree
// exactly, but where it or the engine around it is at fault.
#include <algorithm>
#include <catch.hpp>
#include <limits>
#include <stdexcept>

#include "scale_replay.hpp"
#include "trace.hpp"

using namespace oracle;
using namespace halfstep;
using by_default = hysteresis_scaling<refill::on_growth, growth_count::deepspeed>;
using consecutive = hysteresis_scaling<refill::on_clean_step, growth_count::deepspeed>;

namespace {

template <class Scaling>
Scaling scaling_of(trace_case const& c) {
    Scaling s;
    s.initial_scale = c.real("init_scale");
    s.growth_interval = static_cast<int>(c.number("scale_window"));
    if (c.has("delayed_shift")) s.hysteresis = static_cast<int>(c.number("delayed_shift"));
    if (c.has("min_scale")) s.floor = c.real("min_scale");
    s.floor_action = at_floor::raise;
    return s;
}

/// The step at which the run first differs from the trace; -1 if nowhere, that is also in where it raises.
template <class Scaling>
int first_difference(trace_case const& c) {
    scaled_run<Scaling> run(scaling_of<Scaling>(c));
    auto const& gradients = c.word("gradients");
    const auto scales = c.numbers("scale"), credit = c.numbers("hysteresis");
    const int raised_at = static_cast<int>(c.number("raised_at"));
    std::int64_t clean = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const int at = static_cast<int>(i);
        try {
            if (run.step(gradients[i]).applied != (gradients[i] == '.')) return at;
            if (raised_at == at) return at;
        } catch (std::runtime_error const&) {
            return raised_at == at ? -1 : at;
        }
        clean += gradients[i] == '.' ? 1 : 0;
        if (static_cast<double>(run.scale()) != scales.at(i) ||
            run.control().scaling.credit != static_cast<int>(credit.at(i)) || run.applied() != clean)
            return at;
    }
    return raised_at == -1 ? -1 : raised_at;
}

}  // namespace

TEST_CASE("hysteresis_scaling goes through DynamicLossScaler's scales and credits, step by step", "[oracle][scaling]") {
    int cases = 0;
    for (auto const& c : read_trace("loss_scaler")) {
        if (c.name == "ceiling" || c.name == "hysteresis_0" || c.name.rfind("engine", 0) == 0) continue;
        CAPTURE(c.name);
        CHECK((c.number("consecutive_hysteresis") != 0 ? first_difference<consecutive>(c)
                                                       : first_difference<by_default>(c)) == -1);
        ++cases;
    }
    CHECK(cases == 2 * 3 * 4 + 2);
}

TEST_CASE("DynamicLossScaler grows beyond fp32; here growth stops at the ceiling", "[oracle][scaling]") {
    auto const& c = find_case("loss_scaler", "ceiling");
    const auto scales = c.numbers("scale");
    REQUIRE(scales.back() > static_cast<double>(std::numeric_limits<float>::max()));
    scaled_run<by_default> run(scaling_of<by_default>(c));
    for (std::size_t i = 0; i < scales.size(); ++i) {
        run.step('.');
        CHECK(static_cast<double>(run.scale()) == std::min(scales[i], 0x1p127));
    }
}

TEST_CASE("a hysteresis of 0 never cuts DynamicLossScaler's scale; here it is refused", "[oracle][scaling]") {
    auto const& c = find_case("loss_scaler", "hysteresis_0");
    REQUIRE(c.numbers("scale").back() == c.number("init_scale"));
    REQUIRE(c.word("gradients").find('.') == std::string::npos);
    CHECK_THROWS_AS(scaled_run<by_default>(scaling_of<by_default>(c)), std::invalid_argument);
}

TEST_CASE("a step on which DeepSpeed's engine grows the scale moves half as far; here all go the same way",
          "[oracle][scaling]") {
    for (char const* name : {"engine_zero_1", "engine_zero_2", "engine_zero_3"}) {
        auto const& c = find_case("loss_scaler", name);
        const auto masters = c.numbers("master"), scales = c.numbers("scale");
        const float lr = c.real("lr"), gradient = c.real("gradient"), right = lr * gradient;
        CHECK(1 - masters.at(0) == right);
        CHECK(masters.at(1) - masters.at(2) == right / 2);  // 16 to 32 on the third step
        CHECK(masters.at(3) - masters.at(4) == right / 2);  // 32 to 64 on the fifth

        using recipe = halfstep::recipe<fp16{}, sgd<>{}, by_default{.hysteresis = 1}>;
        auto scaling = scaling_of<by_default>(c);
        optimizer_step step{recipe{}, scaling};
        std::vector<fp16> p(1, fp16(1.0f)), g(1, fp16(0.0f));
        step.bind(p, g);
        float expected = 1;
        for (double scale : scales) {
            g[0] = fp16(gradient * step.loss_scale());
            step.step(lr);
            expected -= right;
            CHECK(widen(p[0]) == expected);
            CHECK(static_cast<double>(step.loss_scale()) == scale);
        }
    }
}
