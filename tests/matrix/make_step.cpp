// SPDX-License-Identifier: Apache-2.0
#include <matrix/composed_step.hpp>

namespace matrix {

std::unique_ptr<composed_step> make_step(int index, hs::host_backend const& backend) {
    std::unique_ptr<composed_step> step;
    hs::for_each_index<HALFSTEP_MATRIX_PARTS>([&](auto part) {
        if (index % part_count == static_cast<int>(part)) step = make_in_part<static_cast<int>(part)>(index, backend);
    });
    return step;
}

}  // namespace matrix
