// SPDX-License-Identifier: Apache-2.0
/// The first layer: learnt features on grids over the picture, from coarse to fine, interpolated at every pixel.
///
/// After instant-ngp (Müller et al., 2022), with dense grids in place of its hash tables. Its output at a pixel is a
/// product of the grid with a matrix of interpolation weights that has four entries a row, so it is computed as such:
/// fp32 sums over stored values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace picture_fit {

/// One axis of a grid: for each pixel the cell that it falls into, and how far.
struct grid_axis {
    std::vector<int> cell;
    std::vector<float> fraction;

    grid_axis(int pixels, int cells) {
        for (int i = 0; i < pixels; ++i) {
            const float position =
                (static_cast<float>(i) + 0.5f) / static_cast<float>(pixels) * static_cast<float>(cells);
            cell.push_back(std::min(static_cast<int>(position), cells - 1));
            fraction.push_back(position - static_cast<float>(cell.back()));
        }
    }
};

/// `features` planes of (cells + 1) × (cells + 1) values.
class feature_grid {
  public:
    feature_grid(int cells, int features, int width, int height)
        : points_(cells + 1), features_(features), x_(width, cells), y_(height, cells) {}

    int points() const { return points_; }
    int features() const { return features_; }
    grid_axis const& x() const { return x_; }
    grid_axis const& y() const { return y_; }
    std::size_t size() const { return static_cast<std::size_t>(features_) * plane(); }

    /// Writes the features of picture row `y` to columns of `out`, which lie `stride` apart.
    void interpolate(float const* values, int y, float* out, std::ptrdiff_t stride, std::vector<float>& scratch) const {
        scratch.resize(static_cast<std::size_t>(points_));
        const auto width = static_cast<int>(x_.cell.size());
        const float down = y_.fraction[static_cast<std::size_t>(y)];
        for (int f = 0; f < features_; ++f, out += stride) {
            float const* upper = values + row_of(f, y);
            float const* lower = upper + points_;
            float* line = scratch.data();
            for (int i = 0; i < points_; ++i) line[i] = upper[i] + down * (lower[i] - upper[i]);
            int const* cell = x_.cell.data();
            float const* right = x_.fraction.data();
            for (int x = 0; x < width; ++x) out[x] = line[cell[x]] + right[x] * (line[cell[x] + 1] - line[cell[x]]);
        }
    }

    /// The transpose: adds the gradients of a row's features to those of the grid. All features of a pixel in turn:
    /// neighbouring pixels add to the same points, and one feature alone would wait for itself.
    void accumulate(float* gradient, int y, float const* in, std::ptrdiff_t stride, std::vector<float>& scratch) const {
        scratch.assign(static_cast<std::size_t>(features_) * static_cast<std::size_t>(points_), 0.0f);
        const auto width = static_cast<int>(x_.cell.size());
        for (int x = 0; x < width; ++x) {
            const float right = x_.fraction[static_cast<std::size_t>(x)];
            float* point = scratch.data() + x_.cell[static_cast<std::size_t>(x)];
            for (int f = 0; f < features_; ++f, point += points_) {
                const float value = in[f * stride + x];
                point[0] += value - right * value;
                point[1] += right * value;
            }
        }
        const float down = y_.fraction[static_cast<std::size_t>(y)];
        float const* line = scratch.data();
        for (int f = 0; f < features_; ++f, line += points_) {
            float* upper = gradient + row_of(f, y);
            float* lower = upper + points_;
            for (int i = 0; i < points_; ++i) {
                lower[i] += down * line[i];
                upper[i] += line[i] - down * line[i];
            }
        }
    }

  private:
    std::size_t plane() const { return static_cast<std::size_t>(points_) * static_cast<std::size_t>(points_); }
    std::size_t row_of(int feature, int y) const {
        return static_cast<std::size_t>(feature) * plane() +
               static_cast<std::size_t>(y_.cell[static_cast<std::size_t>(y)]) * static_cast<std::size_t>(points_);
    }

    int points_, features_;
    grid_axis x_, y_;
};

}  // namespace picture_fit
