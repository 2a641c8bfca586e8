// SPDX-License-Identifier: Apache-2.0
/// What the variants made of the photograph.
#pragma once

#include <filesystem>
#include <vector>

#include "picture.hpp"
#include "report.hpp"

namespace picture_fit {

/// Every picture alone, and in `side_by_side.png` the original and three variants, each above its tenfold error. First
/// seed.
inline void write_pictures(std::filesystem::path const& folder, picture const& target,
                           std::vector<variant_result> const& variants) {
    std::vector<picture> above{target}, below{difference(target, target, 10)};
    write_png(folder / "original.png", target);
    for (auto const& v : variants) {
        picture const& drawn = v.runs.front().drawn;
        write_png(folder / (v.name + ".png"), drawn);
        if (v.name == "fp32" || v.name == "fp16_unscaled" || v.name == "fp16_dynamic") {
            above.push_back(drawn);
            below.push_back(difference(drawn, target, 10));
        }
    }
    const int columns = static_cast<int>(above.size());
    above.insert(above.end(), below.begin(), below.end());
    write_png(folder / "side_by_side.png", contact_sheet(above, columns));
}

}  // namespace picture_fit
