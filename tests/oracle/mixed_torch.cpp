// SPDX-License-Identifier: Apache-2.0
// The whole step: fp16 or scaled fp32 gradients, GradScaler, clip_grad_norm_, AdamW on fp32 masters and an fp16 copy,
// with overflows.
#include <catch.hpp>
#include <cmath>

#include "peers/torch_adam.hpp"
#include "replay.hpp"

using namespace oracle;
using namespace halfstep;

namespace {

struct mixed_distances {
    distances master;
    double norm = 0;              ///< in last bits of fp32
    double copies_differing = 0;  ///< share of fp16 parameters that differ
    int wrong_steps = 0;          ///< in the scale or in whether they were applied
};

dynamic_scaling scaling_of(trace_case const& c) {
    dynamic_scaling s;
    s.initial_scale = c.real("init_scale");
    s.growth_factor = c.real("growth_factor");
    s.backoff_factor = c.real("backoff_factor");
    s.growth_interval = static_cast<int>(c.number("growth_interval"));
    return s;
}

/// The fp32 values behind the parameters.
template <class Step, class T>
std::vector<std::vector<float>> masters(Step& step, std::vector<std::vector<T>> const& parameters) {
    if constexpr (std::is_same_v<T, float>) {
        return parameters;
    } else {
        std::vector<std::vector<float>> result;
        step.visit_state([&](state_entry const& entry) {
            if (entry.component != "companion") return;
            result.emplace_back(entry.bytes.size() / sizeof(float));
            std::memcpy(result.back().data(), entry.bytes.data(), entry.bytes.size());
        });
        return result;
    }
}

template <class T, class Rule, bool Clips>
mixed_distances replay_mixed(trace_case const& c, elements which) {
    using clipping = std::conditional_t<Clips, clip_by_norm, no_clipping>;
    using recipe = halfstep::recipe<dtype<T>{}, Rule{}, dynamic_scaling{}, clipping{}>;
    auto parameters = vectors<T>(c, "initial");
    auto gradients = vectors<T>(c.steps.front(), "gradient");
    clipping clip;
    if constexpr (Clips) clip.max_norm = c.real("max_norm");
    optimizer_step step{recipe{}, rule_of<Rule>(c), scaling_of(c), clip};
    step.bind(views(parameters), views(gradients));
    mixed_distances d;
    std::vector<ulp_meter> meters;
    for (auto const& p : masters(step, parameters)) meters.emplace_back(p.size(), which).see(p);
    std::size_t copies = 0, differing = 0;
    for (auto const& s : c.steps) {
        gradients = vectors<T>(s, "gradient");
        step.bind_gradients(views(gradients));
        const step_record record = step.step(c.real("lr"));
        if (record.applied != (s.number("applied") != 0) || static_cast<double>(record.loss_scale) != s.number("scale"))
            ++d.wrong_steps;
        if (s.has("norm")) {
            const double norm = s.number("norm");
            d.norm = std::max(d.norm, std::fabs(record.gradient_norm - norm) / ulp_of(static_cast<float>(norm)));
        }
        const auto ours = masters(step, parameters), theirs = vectors<float>(s, "master");
        for (std::size_t i = 0; i < meters.size(); ++i) meters[i].compare(ours.at(i), theirs.at(i));
        if (!s.has_tensors("parameter")) continue;
        const auto copy = vectors<T>(s, "parameter");
        for (std::size_t i = 0; i < copy.size(); ++i)
            for (std::size_t j = 0; j < copy[i].size(); ++j, ++copies)
                differing += copy[i][j] == parameters[i].at(j) ? 0u : 1u;
    }
    std::size_t different = 0, compared = 0;
    for (auto const& m : meters) {
        d.master.parameter = std::max(d.master.parameter, m.largest());
        different += m.differing();
        compared += m.count();
    }
    d.master.differing = static_cast<double>(different) / static_cast<double>(compared);
    if (copies != 0) d.copies_differing = static_cast<double>(differing) / static_cast<double>(copies);
    if (static_cast<double>(step.loss_scale()) != c.final.number("scale")) ++d.wrong_steps;
    for (double count : c.final.numbers("counts"))
        d.master.counts_agree = d.master.counts_agree && count == static_cast<double>(step.applied_steps());
    return d;
}
void check(trace_case const& c, mixed_distances const& d, double parameter, double norm) {
    INFO(text(c, d.master) << ", norm " << d.norm << ", share of copies that differ " << d.copies_differing);
    CHECK(d.wrong_steps == 0);
    CHECK(d.master.counts_agree);
    CHECK(d.master.parameter <= parameter);
    CHECK(d.norm <= norm);
    CHECK(d.copies_differing == 0);
}
bool is_fused(trace_case const& c) { return c.words("implementations").front() == "fused"; }

}  // namespace

// Bounds of masters are those of AdamW over 16 applied steps (adam_torch.cpp). With clipping: torch unscales, rounds,
// clips, rounds; here both are one factor, and its norm, rounded to fp32 at several places, is up to 2.1 last bits from
// ours.
TEST_CASE("fp16 training step by step as with GradScaler, clip_grad_norm_ and AdamW on fp32 masters",
          "[oracle][mixed]") {
    int cases = 0;
    for (auto const& c : read_trace("mixed")) {
        if (c.name == "fp16_clipped") check(c, replay_mixed<fp16, adamw, true>(c, elements::all), 4.5, 1.4);
        if (c.name == "fp16") check(c, replay_mixed<fp16, adamw, false>(c, elements::all), 4.5, 0);
        cases += c.name == "fp16_clipped" || c.name == "fp16" ? 1 : 0;
    }
    CHECK(cases == 2);  // every implementation of torch gives the same bits here
}

TEST_CASE("scaled fp32 gradients step by step, with scales that are no powers of two", "[oracle][mixed]") {
    int cases = 0;
    for (auto const& c : read_trace("mixed")) {
        // The fused kernel divides by the scale, all others multiply by its reciprocal, rounded to fp32, as here.
        if (c.name == "fp32_clipped_uneven") check(c, replay_mixed<float, adamw, true>(c, elements::all), 6, 2.1);
        if (c.name == "fp32_uneven")
            check(c, replay_mixed<float, adamw, false>(c, elements::all), is_fused(c) ? 4.5 : 2.875, 0);
        cases += c.name.rfind("fp32", 0) == 0 ? 1 : 0;
    }
    CHECK(cases == 4);
}

TEST_CASE("unscaling and AdamW in torch's order of operations give torch's masters and copies", "[oracle][mixed]") {
    for (auto const& c : read_trace("mixed")) {
        if (c.name == "fp16")
            check(c, replay_mixed<fp16, torch_adam<true>, false>(c, elements::in_whole_vectors), 0, 0);
        // One bit for MKL's square root.
        if (c.name == "fp32_uneven" && !is_fused(c))
            check(c, replay_mixed<float, torch_adam<true>, false>(c, elements::in_whole_vectors), 1, 0);
    }
}

TEST_CASE("an inf among bf16 gradients, which costs torch the weight, skips the step", "[oracle][mixed]") {
    auto const& c = find_case("mixed", "fault_bf16_unchecked");
    const auto lost = vectors<bf16>(c.steps.back(), "parameter").at(0);
    REQUIRE(std::isnan(widen(lost.at(1))));

    // The same with and without the second step: it leaves no trace.
    std::vector<std::vector<bf16>> results[2];
    for (const bool with_overflow : {true, false}) {
        using recipe = halfstep::recipe<bf16{}, adamw{}>;
        auto parameters = vectors<bf16>(c, "initial");
        auto gradients = vectors<bf16>(c.steps.front(), "gradient");
        optimizer_step step{recipe{}, rule_of<adamw>(c)};
        step.bind(views(parameters), views(gradients));
        for (std::size_t t = 0; t < c.steps.size(); ++t) {
            if (t == 1 && !with_overflow) continue;
            gradients = vectors<bf16>(c.steps[t], "gradient");
            step.bind_gradients(views(gradients));
            CHECK(step.step(c.real("lr")).applied == (t != 1));
        }
        results[with_overflow ? 0 : 1] = parameters;
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] != vectors<bf16>(c, "initial"));
}

TEST_CASE("gradients of 0, which make fp16 parameters NaN where eps is kept in fp16, leave every bit",
          "[oracle][mixed]") {
    auto const& c = find_case("mixed", "fault_fp16_eps");
    const auto lost = vectors<fp16>(c.steps.front(), "parameter");
    for (fp16 x : lost.at(0)) REQUIRE(std::isnan(widen(x)));

    using recipe = halfstep::recipe<fp16{}, adamw{}, in_place{}>;
    auto parameters = vectors<fp16>(c, "initial");
    auto gradients = vectors<fp16>(c.steps.front(), "gradient");
    optimizer_step step{recipe{}, rule_of<adamw>(c)};
    step.bind(views(parameters), views(gradients));
    for (std::size_t t = 0; t < c.steps.size(); ++t) CHECK(step.step(c.real("lr")).applied);
    CHECK(parameters == vectors<fp16>(c, "initial"));
}
