// SPDX-License-Identifier: Apache-2.0
/// Where the curve of a dynamic loss scale goes.
#pragma once

#include <filesystem>
#include <halfstep/halfstep.hpp>
#include <stdexcept>
#include <string>

namespace picture_fit {

inline halfstep::scale_curve<> scale_curve_in(std::filesystem::path const& folder, unsigned seed) {
    halfstep::scale_curve<> curve;
    const std::string file = (folder / ("scale_curve_seed" + std::to_string(seed) + ".csv")).string();
    if (file.size() >= sizeof curve.path)
        throw std::invalid_argument("the path '" + file + "' is too long for scale_curve");
    file.copy(curve.path, file.size());
    curve.path[file.size()] = '\0';
    return curve;
}

}  // namespace picture_fit
