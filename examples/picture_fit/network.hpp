// SPDX-License-Identifier: Apache-2.0
/// A network from pixel coordinates to colours, in true mixed precision.
///
/// Parameters, activations and the gradients of both are stored in `T`. Products widen what is stored, accumulate in
/// fp32, and are rounded to `T` when they are done, as on hardware with 16-bit inputs and fp32 accumulators. The loss
/// is the mean of the squared error over all pixels and channels; the loss scale multiplies its gradient in fp32,
/// before the first rounding.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "network_layout.hpp"
#include "picture.hpp"
#include "stored_matrix.hpp"

namespace picture_fit {

template <hs::storage_type T>
class network {
    using matrix = Eigen::MatrixXf;  // a row a pixel

  public:
    network(network_shape const& shape, picture const& target, unsigned seed, int threads)
        : layout_(shape, target.width, target.height),
          target_(target),
          parameters_(layout_.parameters),
          gradients_(layout_.parameters),
          widened_(layout_.parameters),
          bands_(static_cast<std::size_t>(threads)) {
        hs::narrow(std::span<float const>(layout_.initial_parameters(seed)), std::span<T>(parameters_));
        for (auto& band : bands_) band.activations.resize(layout_.weights.size());
    }

    std::size_t size() const { return layout_.parameters; }
    std::vector<hs::tensor_view<T>> parameters() { return views(parameters_); }
    std::vector<hs::tensor_view<T>> gradients() { return views(gradients_); }
    /// Over all gradients that were rounded to `T` so far: of activations and of parameters.
    underflow_count const& underflow() const { return underflow_; }

    /// Returns the loss, and leaves `loss_scale` times its gradient in `gradients()`.
    double backward(float loss_scale) {
        for (auto& band : bands_) band.parameter_gradient.assign(layout_.parameters, 0.0f);
        const double error = for_each_block([&](band& b, rows r) {
            forward(b, r);
            const double squares = output_gradient(b, r, loss_scale);
            backward(b, r);
            return squares;
        });
        sum_parameter_gradients();
        return error / static_cast<double>(target_.values.size());
    }

    /// The picture as the network draws it now.
    picture draw() {
        picture drawn(target_.width, target_.height);
        for_each_block([&](band& b, rows r) {
            forward(b, r);
            for (int c = 0; c < channels; ++c)
                std::copy_n(b.values.col(c).data(), b.values.rows(), drawn.plane(c) + r.first * drawn.width);
            return 0.0;
        });
        return drawn;
    }

  private:
    /// Rows of the picture that are computed together.
    struct rows {
        int first, count;
    };
    /// So many pixels that all their activations stay in a second-level cache.
    static constexpr int pixels_per_block = 1024;

    /// What a thread needs for its part of the picture.
    struct band {
        std::vector<stored_matrix<T>> activations;  ///< the input of each layer
        stored_matrix<T> output, gradient;
        matrix values, input, product;          ///< in fp32, for one product
        std::vector<float> parameter_gradient;  ///< summed in fp32 over the whole band
        std::vector<float> line;
        underflow_count underflow;
    };

    /// Sums `body(band, rows)`, in the order of the picture.
    template <class Body>
    double for_each_block(Body&& body) {
        hs::widen(std::span<T const>(parameters_), std::span<float>(widened_));
        const int count = std::max(1, (pixels_per_block + target_.width / 2) / target_.width);
        const int blocks = (target_.height + count - 1) / count, bands = static_cast<int>(bands_.size());
        std::vector<double> sums(static_cast<std::size_t>(blocks));
#pragma omp parallel for schedule(static, 1) num_threads(bands)
        for (int b = 0; b < bands; ++b)
            for (int i = blocks * b / bands; i < blocks * (b + 1) / bands; ++i) {
                const rows r{i * count, std::min(count, target_.height - i * count)};
                sums[static_cast<std::size_t>(i)] = body(bands_[static_cast<std::size_t>(b)], r);
            }
        double sum = 0;
        for (double s : sums) sum += s;
        return sum;
    }

    /// Leaves the output in `b.values`.
    void forward(band& b, rows r) {
        b.values.resize(r.count * target_.width, layout_.inputs);
        for_each_grid(
            r, [&](feature_grid const& grid, tensor_place const& tensor, int y, Eigen::Index row, Eigen::Index column) {
                grid.interpolate(widened_.data() + tensor.offset, y, &b.values(row, column), b.values.rows(), b.line);
            });
        for (std::size_t l = 0; l < layout_.weights.size(); ++l) {
            b.activations[l].store(b.values);
            b.activations[l].load(b.values);
            b.product.noalias() = b.values * weight(widened_, l);
            if (l + 1 < layout_.weights.size())
                b.product = (b.product.rowwise() + bias(widened_, l)).cwiseMax(0.0f);
            else
                b.product.rowwise() += bias(widened_, l);
            b.values.swap(b.product);
        }
        b.output.store(b.values);
        b.output.load(b.values);
    }

    /// Turns the output in `b.values` into the gradient of the loss there; returns the sum of squared errors.
    double output_gradient(band& b, rows r, float loss_scale) {
        for (int c = 0; c < channels; ++c)
            b.values.col(c) -=
                Eigen::Map<Eigen::VectorXf const>(target_.plane(c) + r.first * target_.width, b.values.rows());
        const double squares = b.values.squaredNorm();
        b.values *= 2.0f * loss_scale / static_cast<float>(target_.values.size());
        return squares;
    }

    /// From the gradient of the output in `b.values` to those of all parameters.
    void backward(band& b, rows r) {
        for (std::size_t l = layout_.weights.size(); l-- > 0;) {
            round_gradient(b);
            b.activations[l].load(b.input);
            weight(b.parameter_gradient, l).noalias() += b.input.transpose() * b.values;
            bias(b.parameter_gradient, l) += b.values.colwise().sum();
            b.product.noalias() = b.values * weight(widened_, l).transpose();
            if (l > 0) b.product = (b.input.array() > 0.0f).select(b.product, 0.0f);
            b.values.swap(b.product);
        }
        round_gradient(b);
        for_each_grid(
            r, [&](feature_grid const& grid, tensor_place const& tensor, int y, Eigen::Index row, Eigen::Index column) {
                grid.accumulate(b.parameter_gradient.data() + tensor.offset, y, &b.values(row, column), b.values.rows(),
                                b.line);
            });
    }

    /// Stores the gradient in `b.values`, and goes on with what the storage type kept of it.
    void round_gradient(band& b) {
        b.gradient.store(b.values);
        b.gradient.load(b.product);
        if constexpr (hs::narrow_type<T>) b.underflow.add(elements(b.values), elements(b.product));
        b.values.swap(b.product);
    }

    /// Adds the bands in their order, and stores the sum in `T`: the only rounding of a parameter's gradient.
    void sum_parameter_gradients() {
        constexpr int chunk = 4096;
        const int size = static_cast<int>(layout_.parameters), chunks = (size + chunk - 1) / chunk;
        const int bands = static_cast<int>(bands_.size());
#pragma omp parallel for schedule(static, 1) num_threads(bands)
        for (int b = 0; b < bands; ++b)
            for (int i = chunks * b / bands; i < chunks * (b + 1) / bands; ++i)
                sum_parameter_gradients(i * chunk, std::min(chunk, size - i * chunk),
                                        bands_[static_cast<std::size_t>(b)]);
        underflow_ = {};
        for (auto const& band : bands_) underflow_ += band.underflow;
    }
    void sum_parameter_gradients(int first, int count, band& b) {
        const std::size_t begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
        b.line.assign(size, 0.0f);
        for (auto const& other : bands_)
            for (std::size_t i = 0; i < size; ++i) b.line[i] += other.parameter_gradient[begin + i];
        const auto stored = std::span(gradients_).subspan(begin, size);
        hs::narrow(std::span<float const>(b.line), stored);
        if constexpr (hs::narrow_type<T>) {
            b.product.resize(count, 1);
            hs::widen(std::span<T const>(stored), elements(b.product));
            b.underflow.add(b.line, elements(b.product));
        }
    }

    /// `f(grid, its tensor, row of the picture, row and column of a matrix of features)`
    template <class F>
    void for_each_grid(rows r, F&& f) const {
        for (int y = 0; y < r.count; ++y) {
            Eigen::Index column = 0;
            for (std::size_t g = 0; g < layout_.grids.size(); ++g) {
                f(layout_.grids[g], layout_.grid_tensors[g], r.first + y, Eigen::Index{y} * target_.width, column);
                column += layout_.grids[g].features();
            }
        }
    }
    /// A weight's tensor has a row an output; seen column by column it is the transpose, as products here want it.
    auto weight(std::vector<float>& values, std::size_t layer) const {
        auto const& tensor = layout_.weights[layer];
        return Eigen::Map<matrix>(values.data() + tensor.offset, tensor.columns, tensor.rows);
    }
    auto bias(std::vector<float>& values, std::size_t layer) const {
        auto const& tensor = layout_.biases[layer];
        return Eigen::Map<Eigen::RowVectorXf>(values.data() + tensor.offset, tensor.rows);
    }
    std::vector<hs::tensor_view<T>> views(std::vector<T>& values) const {
        std::vector<hs::tensor_view<T>> result;
        layout_.for_each([&](tensor_place const& t) {
            result.emplace_back(values.data() + t.offset, hs::shape{t.rows, t.columns}, t.name);
        });
        return result;
    }

    network_layout layout_;
    picture const& target_;
    std::vector<T> parameters_, gradients_;
    std::vector<float> widened_;  ///< the parameters as products see them
    std::vector<band> bands_;
    underflow_count underflow_;
};

}  // namespace picture_fit
