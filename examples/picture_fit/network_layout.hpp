// SPDX-License-Identifier: Apache-2.0
/// What the network consists of, and where each of its tensors lies.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "feature_grid.hpp"
#include "picture.hpp"

namespace picture_fit {

struct network_shape {
    int grids = 5;            ///< from coarse to fine
    int coarsest = 16;        ///< cells along a side of the first grid
    double refinement = 2.2;  ///< from one grid to the next
    int features = 4;         ///< a grid
    int hidden_layers = 2;    ///< fully connected, ReLU
    int hidden_width = 24;
};

/// A tensor's place among all parameters, and how it starts: uniform in [-bound, bound].
struct tensor_place {
    std::string name;
    std::size_t offset;
    int rows, columns;
    float bound;

    std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

/// Grids, then pairs of weight and bias.
struct network_layout {
    std::vector<feature_grid> grids;
    std::vector<tensor_place> grid_tensors, weights, biases;
    int inputs = 0;  ///< features at a pixel, all grids together
    std::size_t parameters = 0;

    network_layout(network_shape const& shape, int width, int height) {
        double cells = shape.coarsest;
        for (int g = 0; g < shape.grids; ++g, cells *= shape.refinement) {
            grids.emplace_back(static_cast<int>(std::lround(cells)), shape.features, width, height);
            const int points = grids.back().points();
            grid_tensors.push_back(place("grid." + std::to_string(g), shape.features * points, points, 1e-4f));
            inputs += shape.features;
        }
        for (int l = 0, width_before = inputs; l <= shape.hidden_layers; ++l) {
            const bool last = l == shape.hidden_layers;
            const int outputs = last ? channels : shape.hidden_width;
            const std::string name = "layer." + std::to_string(l);
            // He et al. (2015) before a ReLU, PyTorch's default before the output.
            const float bound = std::sqrt((last ? 1.0f : 6.0f) / static_cast<float>(width_before));
            weights.push_back(place(name + ".weight", outputs, width_before, bound));
            biases.push_back(place(name + ".bias", outputs, 1, 0));
            width_before = outputs;
        }
    }

    template <class F>
    void for_each(F&& f) const {
        for (auto const* list : {&grid_tensors, &weights, &biases})
            for (auto const& tensor : *list) f(tensor);
    }

    /// The same values for the same seed, whatever they are stored in.
    std::vector<float> initial_parameters(unsigned seed) const {
        std::mt19937 generator(seed);
        std::vector<float> values(parameters);
        for_each([&](tensor_place const& tensor) {
            std::uniform_real_distribution<float> uniform(-1, 1);
            for (std::size_t i = 0; i < tensor.size(); ++i)
                values[tensor.offset + i] = tensor.bound * uniform(generator);
        });
        return values;
    }

  private:
    tensor_place place(std::string name, int rows, int columns, float bound) {
        tensor_place result{std::move(name), parameters, rows, columns, bound};
        parameters += result.size();
        return result;
    }
};

}  // namespace picture_fit
