// SPDX-License-Identifier: Apache-2.0
/// Finds the row that a segment belongs to.
#pragma once

#include <cstdint>

#include <halfstep/core/layout.hpp>

namespace halfstep::cuda_detail {

/// Index of the last row that starts at or before `segment`.
__device__ __forceinline__ std::int64_t find_row(tensor_row const* rows, std::int64_t count, std::int64_t segment) {
    std::int64_t low = 0;
    for (std::int64_t high = count; high - low > 1;) {
        const std::int64_t middle = low + (high - low) / 2;
        if (rows[middle].first_segment <= segment)
            low = middle;
        else
            high = middle;
    }
    return low;
}

}  // namespace halfstep::cuda_detail
