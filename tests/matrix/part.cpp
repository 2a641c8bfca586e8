// SPDX-License-Identifier: Apache-2.0
// One of the parts of the matrix, HALFSTEP_MATRIX_PART: the recipes whose number leaves that rest. CMake compiles this
// file once a part.
#include <matrix/composed_step.hpp>

namespace matrix {

static_assert(HALFSTEP_MATRIX_PART < part_count && recipe_count % part_count == 0);

template <>
std::unique_ptr<composed_step> make_in_part<HALFSTEP_MATRIX_PART>(int index, hs::host_backend const& backend) {
    std::unique_ptr<composed_step> step;
    hs::for_each_index<recipe_count / part_count>([&](auto n) {
        constexpr int i = static_cast<int>(n) * part_count + HALFSTEP_MATRIX_PART;
        if (i == index) step = std::make_unique<composed_step_of<recipe_at<i>, hs::host_backend>>(backend);
    });
    return step;
}

}  // namespace matrix
