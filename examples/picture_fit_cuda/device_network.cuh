// SPDX-License-Identifier: Apache-2.0
/// The network of picture_fit/network.hpp on a device: the same layout and first weights, the same roundings.
/// Everything is launched on one stream, and nothing is allocated after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <halfstep/halfstep.hpp>
#include <list>
#include <span>
#include <vector>

#include "../picture_fit/network_layout.hpp"
#include "../picture_fit/picture.hpp"
#include "cuda_resources.hpp"
#include "device_grid.hpp"
#include "grid_kernels.cuh"
#include "layer_kernels.cuh"
#include "products.hpp"

namespace picture_fit {

template <hs::storage_type T>
class device_network {
  public:
    device_network(network_shape const& shape, picture const& target, unsigned seed, products<T>& products,
                   cudaStream_t stream)
        : layout_(shape, target.width, target.height),
          width_(target.width),
          height_(target.height),
          pixels_(target.width * target.height),
          products_(products),
          stream_(stream),
          grids_(layout_),
          target_(target.values),
          parameters_(narrowed(layout_.initial_parameters(seed))),
          gradients_(layout_.parameters),
          product_(matrix_size(widest())),
          gradient_(matrix_size(widest())),
          output_(matrix_size(channels)),
          squares_(blocks_for(pixels_)),
          lines_(largest_line()) {
        for (auto const& weight : layout_.weights) inputs_.emplace_back(matrix_size(weight.columns));
    }

    std::size_t size() const { return layout_.parameters; }
    std::vector<hs::tensor_view<T>> parameters() { return views(parameters_); }
    std::vector<hs::tensor_view<T>> gradients() { return views(gradients_); }

    /// Launches what leaves `*loss_scale` times the gradient of the loss in `gradients()`, and the loss in `*loss`;
    /// both in device memory.
    void backward(float const* loss_scale, float* loss) {
        forward();
        output_gradient(loss_scale);
        sum_loss_kernel<<<1, threads_per_block, 0, stream_>>>(squares_.data(), static_cast<int>(squares_.size()),
                                                              channels * pixels_, loss);
        auto input = inputs_.rbegin();
        for (std::size_t l = layout_.weights.size(); l-- > 0; ++input) backward(l, input->data());
        gather_grid_gradients();
        check(cudaGetLastError(), "a launch of the backward pass");
    }

    /// The picture as the network draws it now. Waits.
    picture draw() {
        const device_array<float> unscaled(std::vector<float>{1});
        forward();
        output_gradient(unscaled.data());
        const std::vector<T> values = output_.read(stream_);
        picture drawn(width_, height_);
        hs::widen(std::span<T const>(values), std::span<float>(drawn.values));
        return drawn;
    }

  private:
    /// Leaves the last layer's product in `product_`.
    void forward() {
        auto input = inputs_.begin();
        interpolate_kernel<<<blocks_for(pixels_), threads_per_block, 0, stream_>>>(grids_.list(), parameters_.data(),
                                                                                   width_, pixels_, input->data());
        for (std::size_t l = 0; l < layout_.weights.size(); ++l) {
            auto const& weight = layout_.weights[l];
            products_.forward(input->data(), data(weight), product_.data(), pixels_, weight.columns, weight.rows);
            if (++input != inputs_.end())
                activate_kernel<<<blocks_for(std::int64_t{pixels_} * weight.rows), threads_per_block, 0, stream_>>>(
                    product_.data(), data(layout_.biases[l]), pixels_, weight.rows, input->data());
        }
    }
    /// From the last product to the output and its gradient.
    void output_gradient(float const* loss_scale) {
        output_gradient_kernel<<<blocks_for(pixels_), threads_per_block, 0, stream_>>>(
            product_.data(), data(layout_.biases.back()), target_.data(), pixels_, loss_scale, output_.data(),
            gradient_.data(), squares_.data());
    }
    /// From the gradient of a layer's product in `gradient_` to that of the product before.
    void backward(std::size_t layer, T const* input) {
        auto const &weight = layout_.weights[layer], &bias = layout_.biases[layer];
        products_.weight_gradient(input, gradient_.data(), gradient(weight), pixels_, weight.columns, weight.rows);
        bias_gradient_kernel<<<static_cast<unsigned>(bias.rows), threads_per_block, 0, stream_>>>(
            gradient_.data(), pixels_, gradient(bias));
        products_.input_gradient(gradient_.data(), data(weight), product_.data(), pixels_, weight.columns, weight.rows);
        const std::int64_t size = std::int64_t{pixels_} * weight.columns;
        round_gradient_kernel<<<blocks_for(size), threads_per_block, 0, stream_>>>(
            product_.data(), layer > 0 ? input : nullptr, size, gradient_.data());
    }
    void gather_grid_gradients() {
        for (int g = 0; g < grids_.list().count; ++g) {
            grid_view const& grid = grids_.list().grid[g];
            const std::int64_t line = std::int64_t{grid.features} * grid.points;
            gather_rows_kernel<<<blocks_for(line * height_), threads_per_block, 0, stream_>>>(
                grid, gradient_.data(), width_, height_, lines_.data());
            gather_columns_kernel<<<blocks_for(line * grid.points), threads_per_block, 0, stream_>>>(
                grid, lines_.data(), gradients_.data());
        }
    }

    static std::vector<T> narrowed(std::vector<float> const& values) {
        std::vector<T> result(values.size());
        hs::narrow(std::span<float const>(values), std::span<T>(result));
        return result;
    }
    std::size_t matrix_size(int columns) const {
        return static_cast<std::size_t>(pixels_) * static_cast<std::size_t>(columns);
    }
    int widest() const {
        int columns = 0;
        for (auto const& weight : layout_.weights) columns = std::max({columns, weight.columns, weight.rows});
        return columns;
    }
    std::size_t largest_line() const {
        int points = 0;
        for (auto const& grid : layout_.grids) points = std::max(points, grid.features() * grid.points());
        return static_cast<std::size_t>(points) * static_cast<std::size_t>(height_);
    }
    T const* data(tensor_place const& tensor) const { return parameters_.data() + tensor.offset; }
    T* gradient(tensor_place const& tensor) const { return gradients_.data() + tensor.offset; }
    std::vector<hs::tensor_view<T>> views(device_array<T> const& values) const {
        std::vector<hs::tensor_view<T>> result;
        layout_.for_each([&](tensor_place const& t) {
            result.emplace_back(values.data() + t.offset, hs::shape{t.rows, t.columns}, t.name);
        });
        return result;
    }

    network_layout layout_;
    int width_, height_, pixels_;
    products<T>& products_;
    cudaStream_t stream_;
    device_grids grids_;
    device_array<float> target_;
    device_array<T> parameters_, gradients_;
    device_array<float> product_;        ///< of the layer at hand
    device_array<T> gradient_;           ///< the same in the backward pass
    device_array<T> output_;             ///< colours
    device_array<float> squares_;        ///< squared errors, a block each
    device_array<float> lines_;          ///< a grid's gradient, gathered along the rows
    std::list<device_array<T>> inputs_;  ///< of each layer
};

}  // namespace picture_fit
