// SPDX-License-Identifier: Apache-2.0
/// Runs the gradients of a trace through a real optimizer_step and measures how far it ends up from the peer.
#pragma once

#include <algorithm>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace.hpp"
#include "ulp.hpp"

namespace oracle {

/// Largest distances from a peer, in last bits; see ulp.hpp.
struct distances {
    double parameter = 0;
    double moment[2] = {0, 0};
    double differing = 0;      ///< share of parameters, over all steps, that differ at all
    bool counts_agree = true;  ///< the number of updates of each tensor
    bool all_applied = true;
};

/// The moments `k` of all tensors of a step, and how many applied steps each tensor missed.
struct state_of_tensors {
    std::vector<std::vector<float>> moment[2];
    std::vector<std::int64_t> missed;
};
template <class Step>
state_of_tensors read_state(Step& step) {
    state_of_tensors state;
    step.visit_state([&](halfstep::state_entry const& entry) {
        if (entry.component == "moment") {
            std::vector<float> values(entry.bytes.size() / sizeof(float));
            std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
            state.moment[entry.number].push_back(values);
        } else if (entry.component == "missed_steps") {
            std::memcpy(&state.missed.emplace_back(), entry.bytes.data(), sizeof(std::int64_t));
        }
    });
    return state;
}

/// Starts every moment of a step at `value`.
template <class Step>
void write_moments(Step& step, float value) {
    step.visit_state([&](halfstep::state_entry const& entry) {
        if (entry.component != "moment") return;
        const std::vector<float> values(entry.bytes.size() / sizeof(float), value);
        std::memcpy(entry.bytes.data(), values.data(), entry.bytes.size());
    });
}

/// The tensors of `line` in a record, as vectors of `T`; an absent one is empty.
template <class T>
std::vector<std::vector<T>> vectors(record const& r, std::string const& line) {
    std::vector<std::vector<T>> result;
    for (auto const& tensor : r.tensors(line)) result.push_back(tensor.as<T>());
    return result;
}
template <class T>
std::vector<halfstep::tensor_view<T>> views(std::vector<std::vector<T>>& tensors) {
    std::vector<halfstep::tensor_view<T>> result;
    for (auto& t : tensors)
        result.emplace_back(t.empty() ? nullptr : t.data(), halfstep::shape{static_cast<std::int64_t>(t.size())});
    return result;
}

/// A case of fp32 parameters and gradients through `Recipe`, with other values for its policies.
template <class Recipe, class... Values>
distances replay(trace_case const& c, elements which, Values const&... values) {
    auto parameters = vectors<float>(c, "initial");
    auto gradients = vectors<float>(c.steps.front(), "gradient");
    std::vector<ulp_meter> meters, moment_meters[2];
    for (auto const& p : parameters) {
        meters.emplace_back(p.size(), which).see(p);
        for (auto& m : moment_meters) m.emplace_back(p.size(), which);
    }
    halfstep::optimizer_step step{Recipe{}, values...};
    step.bind(views(parameters), views(gradients));
    if (c.has("initial_accumulator_value")) write_moments(step, c.real("initial_accumulator_value"));
    distances d;
    state_of_tensors state;
    for (auto const& s : c.steps) {
        gradients = vectors<float>(s, "gradient");
        step.bind_gradients(views(gradients));
        d.all_applied = step.step(s.real("lr")).applied && d.all_applied;
        const auto peer = vectors<float>(s, "parameter");
        for (std::size_t i = 0; i < meters.size(); ++i) meters[i].compare(parameters[i], peer.at(i));
        state = read_state(step);
        for (int k = 0; k < 2; ++k)
            for (std::size_t i = 0; i < state.moment[k].size(); ++i) moment_meters[k][i].see(state.moment[k][i]);
    }
    std::size_t differing = 0, count = 0;
    for (auto const& m : meters) {
        d.parameter = std::max(d.parameter, m.largest());
        differing += m.differing();
        count += m.count();
    }
    d.differing = static_cast<double>(differing) / static_cast<double>(count);
    for (int k = 0; k < 2; ++k) {
        if (state.moment[k].empty()) continue;
        const auto peer = vectors<float>(c.final, "moment_" + std::to_string(k));
        for (std::size_t i = 0; i < state.moment[k].size(); ++i) {
            moment_meters[k][i].compare(state.moment[k][i], peer.at(i));
            d.moment[k] = std::max(d.moment[k], moment_meters[k][i].largest());
        }
    }
    if (c.final.has("counts")) {
        const auto counts = c.final.numbers("counts");
        for (std::size_t i = 0; i < state.missed.size(); ++i)
            d.counts_agree =
                d.counts_agree && static_cast<double>(step.applied_steps() - state.missed[i]) == counts.at(i);
    }
    return d;
}

/// `Rule` with the settings of a case.
template <class Rule>
Rule rule_of(trace_case const& c) {
    Rule rule;
    rule.weight_decay = c.real("weight_decay");
    if constexpr (requires { rule.beta1; }) {
        const auto betas = c.numbers("betas");
        rule.beta1 = static_cast<float>(betas.at(0));
        rule.beta2 = static_cast<float>(betas.at(1));
    }
    if constexpr (requires { rule.eps; }) rule.eps = c.real("eps");
    if constexpr (requires { rule.lr_decay; }) rule.lr_decay = c.real("lr_decay");
    if constexpr (requires { rule.dampening; }) {
        rule.momentum = c.real("momentum");
        rule.dampening = c.real("dampening");
    }
    return rule;
}

/// What a trace of `Rule` is replayed through.
template <class Rule>
using fp32_recipe = halfstep::recipe<halfstep::dtype<float>{}, Rule{}>;

template <class Rule>
distances replay_rule(trace_case const& c, elements which = elements::all) {
    return replay<fp32_recipe<Rule>>(c, which, rule_of<Rule>(c));
}

/// The largest distances of one case; each is what was measured, rounded up where it is not a whole number of last
/// bits.
struct bound {
    char const* name;
    double parameter, moment_0, moment_1;
};
template <std::size_t N>
bound const& bound_of(bound const (&bounds)[N], std::string const& name) {
    for (auto const& b : bounds)
        if (b.name == name) return b;
    throw std::runtime_error("no bound for case " + name);
}
/// Whether a replay keeps within a bound.
inline bool within(distances const& d, bound const& b) {
    return d.parameter <= b.parameter && d.moment[0] <= b.moment_0 && d.moment[1] <= b.moment_1;
}
inline std::string text(trace_case const& c, distances const& d) {
    std::string result = c.name;
    if (c.has("implementations")) result += " (" + c.words("implementations").front() + ")";
    return result + ": parameter " + std::to_string(d.parameter) + ", moments " + std::to_string(d.moment[0]) +
           " and " + std::to_string(d.moment[1]) + ", share that differs " + std::to_string(d.differing);
}

}  // namespace oracle
