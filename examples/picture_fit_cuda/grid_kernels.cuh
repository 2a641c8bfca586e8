// SPDX-License-Identifier: Apache-2.0
/// Features of pixels from grids, and the transpose. A gradient is gathered: each point adds up the pixels that it
/// touches, in their order, so that nothing depends on which thread comes first.
#pragma once

#include <halfstep/halfstep.hpp>

#include "device_grid.hpp"
#include "launch.cuh"

namespace picture_fit {

namespace hs = halfstep;

/// A thread a pixel. Writes the features of all grids, a column a feature.
template <class T>
__global__ void interpolate_kernel(grid_list grids, T const* parameters, int width, int pixels, T* features) {
    const int pixel = static_cast<int>(element_of_thread());
    if (pixel >= pixels) return;
    const int x = pixel % width, y = pixel / width;
    for (int g = 0; g < grids.count; ++g) {
        grid_view const& grid = grids.grid[g];
        const float right = grid.x.fraction[x], down = grid.y.fraction[y];
        T const* upper = parameters + grid.offset + grid.y.cell[y] * grid.points + grid.x.cell[x];
        for (int f = 0; f < grid.features; ++f, upper += grid.points * grid.points) {
            T const* lower = upper + grid.points;
            const float first = hs::widen(upper[0]) + down * (hs::widen(lower[0]) - hs::widen(upper[0]));
            const float second = hs::widen(upper[1]) + down * (hs::widen(lower[1]) - hs::widen(upper[1]));
            features[static_cast<std::size_t>(grid.column + f) * pixels + pixel] =
                hs::narrow<T>(first + right * (second - first));
        }
    }
}

/// The pixels of an axis that point `p` touches.
struct pixel_range {
    int begin, end;
};
__device__ inline pixel_range touched(axis_view const& axis, int p, int points) {
    return {axis.start[p > 0 ? p - 1 : 0], axis.start[p + 1 < points ? p + 1 : points - 1]};
}
/// How much of the value at `pixel` comes from point `p`.
__device__ inline float share(axis_view const& axis, int p, int pixel) {
    const float fraction = axis.fraction[pixel];
    return axis.cell[pixel] == p ? 1 - fraction : fraction;
}

/// Along the rows: for each row of the picture, feature and column of the grid a sum over pixels.
template <class T>
__global__ void gather_rows_kernel(grid_view grid, T const* gradient, int width, int height, float* lines) {
    const std::int64_t i = element_of_thread();
    if (i >= static_cast<std::int64_t>(height) * grid.features * grid.points) return;
    const int p = static_cast<int>(i % grid.points), f = static_cast<int>(i / grid.points) % grid.features;
    const int y = static_cast<int>(i / grid.points) / grid.features;
    T const* row = gradient + (static_cast<std::size_t>(grid.column + f) * height + y) * width;
    const pixel_range range = touched(grid.x, p, grid.points);
    float sum = 0;
    for (int x = range.begin; x < range.end; ++x) sum += share(grid.x, p, x) * hs::widen(row[x]);
    lines[i] = sum;
}

/// Along the columns: a thread a value of the grid, whose gradient is rounded once.
template <class T>
__global__ void gather_columns_kernel(grid_view grid, float const* lines, T* gradients) {
    const std::int64_t i = element_of_thread();
    if (i >= static_cast<std::int64_t>(grid.features) * grid.points * grid.points) return;
    const int x = static_cast<int>(i % grid.points), p = static_cast<int>(i / grid.points) % grid.points;
    const int f = static_cast<int>(i / grid.points) / grid.points;
    const pixel_range range = touched(grid.y, p, grid.points);
    float sum = 0;
    for (int y = range.begin; y < range.end; ++y)
        sum += share(grid.y, p, y) * lines[(static_cast<std::size_t>(y) * grid.features + f) * grid.points + x];
    gradients[grid.offset + i] = hs::narrow<T>(sum);
}

}  // namespace picture_fit
