// SPDX-License-Identifier: Apache-2.0
/// The geometry of the feature grids, in device memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <stdexcept>
#include <vector>

#include "../picture_fit/network_layout.hpp"
#include "cuda_resources.hpp"

namespace picture_fit {

/// grid_axis, and for each cell the first pixel that falls into it or behind: a point touches the pixels of two cells.
struct axis_view {
    int const* cell;
    float const* fraction;
    int const* start;  ///< a place more than there are cells: all pixels
};

struct grid_view {
    axis_view x, y;
    int points, features;
    std::size_t offset;  ///< of its values among the parameters
    int column;          ///< of its first feature
};

/// All grids, as a kernel takes them.
struct grid_list {
    static constexpr int capacity = 8;
    grid_view grid[capacity];
    int count;
};

class device_grids {
  public:
    explicit device_grids(network_layout const& layout) {
        if (layout.grids.size() > grid_list::capacity) throw std::invalid_argument("a network has at most eight grids");
        int column = 0;
        for (std::size_t g = 0; g < layout.grids.size(); ++g) {
            feature_grid const& grid = layout.grids[g];
            const int cells = grid.points() - 1;
            list_.grid[g] = {upload(grid.x(), cells), upload(grid.y(), cells),       grid.points(),
                             grid.features(),         layout.grid_tensors[g].offset, column};
            column += grid.features();
        }
        list_.count = static_cast<int>(layout.grids.size());
    }
    grid_list const& list() const { return list_; }

  private:
    axis_view upload(grid_axis const& axis, int cells) {
        std::vector<int> start;
        for (int c = 0; c <= cells; ++c)
            start.push_back(
                static_cast<int>(std::lower_bound(axis.cell.begin(), axis.cell.end(), c) - axis.cell.begin()));
        return {cells_.emplace_back(axis.cell).data(), fractions_.emplace_back(axis.fraction).data(),
                starts_.emplace_back(start).data()};
    }

    std::list<device_array<int>> cells_, starts_;
    std::list<device_array<float>> fractions_;
    grid_list list_{};
};

}  // namespace picture_fit
