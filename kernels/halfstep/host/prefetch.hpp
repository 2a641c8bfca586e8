// SPDX-License-Identifier: Apache-2.0
/// Asking for memory before it is needed.
#pragma once

#include <cstdint>

#include <halfstep/core/layout.hpp>
#include <halfstep/host/lanes.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// Asks for the lines of `n` values. Always inlined: g++ takes a function that only prefetches for one without effect,
/// and drops its calls.
template <class T>
HS_HOST_INLINE void prefetch(T const* data, std::int64_t n) {
    auto const* const bytes = reinterpret_cast<char const*>(data);
    for (std::int64_t b = 0; b < n * static_cast<std::int64_t>(sizeof(T)); b += 64) __builtin_prefetch(bytes + b);
}

/// A stretch below this is over before the processor's own prefetchers have seen a stream.
inline constexpr std::int64_t short_stretch = 512;

/// The row after `row` where a stretch of `n` elements is short enough to ask for it; else null.
template <class Table, class Row>
HS_HOST_INLINE Row const* row_after(Table const& table, Row const& row, std::int64_t n) {
    return n < short_stretch && &row + 1 != table.rows + table.row_count ? &row + 1 : nullptr;
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
