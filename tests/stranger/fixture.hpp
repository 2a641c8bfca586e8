// SPDX-License-Identifier: Apache-2.0
/// A few tensors, a few steps, and the bytes that are left.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <halfstep/halfstep.hpp>
#include <limits>
#include <utility>
#include <vector>

namespace fixture {

namespace hs = halfstep;

/// Nothing, less than a lane pack, several segments and a rest.
inline constexpr std::array<std::size_t, 4> sizes{0, 5, 300, 9001};

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Small dyadic numbers of either sign: exact in every dtype, and so are sums of their squares.
inline float value_at(std::size_t n) {
    const auto mixed = static_cast<std::uint32_t>(n * 2654435761u) >> 8;
    return static_cast<float>(static_cast<int>(mixed % 15) - 7) * 0.125f;
}

template <class T, class Gradient = T>
struct tensors {
    std::vector<std::vector<T>> parameters;
    std::vector<std::vector<Gradient>> gradients;

    tensors() {
        std::size_t n = 0;
        for (std::size_t size : sizes) {
            parameters.emplace_back();
            gradients.emplace_back(size);
            for (std::size_t i = 0; i < size; ++i) parameters.back().push_back(hs::narrow<T>(value_at(n++)));
        }
    }
    void backward(std::size_t step, float loss_scale = 1) {
        std::size_t n = 1000 * (step + 1);
        for (auto& tensor : gradients)
            for (auto& g : tensor) g = hs::narrow<Gradient>(value_at(n++) * loss_scale);
    }
    Gradient& last_gradient() { return gradients.back().back(); }
    T& last_parameter() { return parameters.back().back(); }
};

/// All that a step has written, without the control block.
template <class T, class Gradient, class Step>
std::vector<std::byte> bytes_of(tensors<T, Gradient> const& t, Step& step) {
    std::vector<std::byte> bytes;
    for (auto const& tensor : t.parameters) {
        auto const* data = reinterpret_cast<std::byte const*>(tensor.data());
        bytes.insert(bytes.end(), data, data + tensor.size() * sizeof(T));
    }
    step.visit_state([&](hs::state_entry const& e) {
        if (e.component != "control") bytes.insert(bytes.end(), e.bytes.begin(), e.bytes.end());
    });
    return bytes;
}

/// What five steps of a recipe leave, the third with `fault` as its last gradient; with arguments for the step's
/// construction.
template <class T, class Gradient, class Recipe, class... Arguments>
std::vector<std::byte> bytes_after_steps(float fault, Recipe recipe, Arguments&&... arguments) {
    tensors<T, Gradient> t;
    hs::optimizer_step step{recipe, std::forward<Arguments>(arguments)...};
    step.bind(t.parameters, t.gradients);
    for (std::size_t s = 0; s < 5; ++s) {
        t.backward(s, step.loss_scale());
        if (s == 2) t.last_gradient() = hs::narrow<Gradient>(fault);
        step.step(0.125f);
    }
    return bytes_of(t, step);
}

}  // namespace fixture
