// SPDX-License-Identifier: Apache-2.0
/// What a checkpoint would hold: every entry that a step shows to `visit_state`, copied and put back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <halfstep/compose/optimizer_step.hpp>
#include <stdexcept>
#include <string>
#include <vector>

struct saved_entry {
    std::string group, component;
    std::size_t tensor;
    int number;
    std::vector<std::byte> bytes;
    friend bool operator==(saved_entry const&, saved_entry const&) = default;
};

template <class Step>
std::vector<saved_entry> saved_state(Step& step) {
    std::vector<saved_entry> result;
    step.visit_state([&](halfstep::state_entry const& e) {
        result.push_back({std::string(e.group), std::string(e.component), e.tensor, e.number,
                          std::vector<std::byte>(e.bytes.begin(), e.bytes.end())});
    });
    return result;
}

/// Puts a saved state into a step that has the same entries.
template <class Step>
void restore_state(Step& step, std::vector<saved_entry> const& saved) {
    std::size_t i = 0;
    step.visit_state([&](halfstep::state_entry const& e) {
        saved_entry const& entry = saved.at(i++);
        if (entry.group != e.group || entry.component != e.component || entry.tensor != e.tensor ||
            entry.number != e.number || entry.bytes.size() != e.bytes.size())
            throw std::logic_error("the saved state is one of another step");
        std::copy(entry.bytes.begin(), entry.bytes.end(), e.bytes.begin());
    });
    if (i != saved.size()) throw std::logic_error("the saved state has more entries");
}
