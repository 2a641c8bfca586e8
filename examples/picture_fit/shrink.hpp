// SPDX-License-Identifier: Apache-2.0
/// A smaller job of the same kind, for a quick run.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "network_layout.hpp"
#include "picture.hpp"

namespace picture_fit {

/// Every pixel is the mean of `factor` × `factor` pixels; what is left over at the edges is cut off.
inline picture shrunk(picture const& source, int factor) {
    picture result(source.width / factor, source.height / factor);
    if (result.width < 1 || result.height < 1)
        throw std::invalid_argument("nothing is left of a picture shrunk so far");
    for (int c = 0; c < channels; ++c)
        for (int y = 0; y < result.height; ++y)
            for (int x = 0; x < result.width; ++x) {
                float sum = 0;
                for (int i = 0; i < factor * factor; ++i)
                    sum += source.plane(c)[(y * factor + i / factor) * source.width + x * factor + i % factor];
                result.plane(c)[y * result.width + x] = sum / static_cast<float>(factor * factor);
            }
    return result;
}

/// Without the grids that are finer than the picture; the coarsest stays.
inline network_shape fitted_to(picture const& target, network_shape shape) {
    const int side = std::min(target.width, target.height);
    while (shape.grids > 1 && shape.coarsest * std::pow(shape.refinement, shape.grids - 1) > side) --shape.grids;
    return shape;
}

}  // namespace picture_fit
