// SPDX-License-Identifier: Apache-2.0
/// Launches with a thread an element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace picture_fit {

inline constexpr int threads_per_block = 256;

inline unsigned blocks_for(std::int64_t elements) {
    return static_cast<unsigned>((elements + threads_per_block - 1) / threads_per_block);
}

__device__ inline std::int64_t element_of_thread() {
    return static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
}

}  // namespace picture_fit
