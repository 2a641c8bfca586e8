// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <string>
#include <vector>

namespace hs = halfstep;

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// What `f` throws as an `Exception`; empty if it does not.
template <class Exception, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (Exception const& e) {
        return e.what();
    }
    return {};
}
inline bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// All state of a step but its control block.
template <class Step>
std::vector<std::byte> state_of(Step& step) {
    std::vector<std::byte> bytes;
    step.visit_state([&](hs::state_entry const& e) {
        if (e.component != "control") bytes.insert(bytes.end(), e.bytes.begin(), e.bytes.end());
    });
    return bytes;
}

/// `count` values of a mixture of signs and magnitudes.
template <class T>
std::vector<T> values(std::size_t count, std::size_t seed) {
    std::vector<T> result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto mixed = static_cast<std::uint32_t>((i + seed * 7919 + 1) * 2654435761u) >> 8;
        result.push_back(hs::narrow<T>((static_cast<float>(mixed % 2001) - 1000) / 512));
    }
    return result;
}
