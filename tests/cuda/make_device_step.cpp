// SPDX-License-Identifier: Apache-2.0
#include <cuda/device_step.hpp>

namespace matrix {

std::unique_ptr<device_step> make_device_step(int index) {
    std::unique_ptr<device_step> step;
    hs::for_each_index<static_cast<std::size_t>(part_count)>([&](auto part) {
        if (index % part_count == static_cast<int>(part))
            step = make_device_step_in_part<static_cast<int>(part)>(index);
    });
    return step;
}

}  // namespace matrix
