// SPDX-License-Identifier: Apache-2.0
/// Asking for memory before it is needed.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/host/instruction_set.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// Asks for the lines of `bytes` at `data`.
HS_HOST_INLINE void prefetch(void const* data, std::int64_t bytes) {
    for (std::int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(static_cast<char const*>(data) + b);
}

/// A stretch below this is over before the processor's own prefetchers have seen a stream.
inline constexpr std::int64_t short_stretch = 512;

/// The row after `row` where a stretch of `n` elements is short enough to ask for it; else null.
inline tensor_row const* row_after(group_rows const& table, tensor_row const& row, std::int64_t n) {
    return n < short_stretch && &row + 1 != table.rows + table.row_count ? &row + 1 : nullptr;
}
/// How many elements to ask for at the start of a row.
inline std::int64_t start_of(tensor_row const& row) { return row.size < short_stretch ? row.size : short_stretch; }

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
