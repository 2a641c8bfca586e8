// SPDX-License-Identifier: Apache-2.0
/// Visits a range of a group's segments, stretch by stretch.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/host/function_ref.hpp>
#include <halfstep/host/instruction_set.hpp>
#include <halfstep/host/threads.hpp>

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// `f(row, first_element, elements, first_segment)` for each stretch of consecutive segments of one row that lies in
/// segments [begin, end) of the table.
HS_NOINLINE inline void walk_segments(
    group_rows const& table, std::int64_t begin, std::int64_t end,
    function_ref<void(tensor_row const&, std::int64_t, std::int64_t, std::int64_t)> f) {
    if (begin >= end) return;
    // The last row that starts at or before `begin`.
    std::int64_t low = 0;
    for (std::int64_t high = table.row_count; high - low > 1;) {
        const std::int64_t middle = low + (high - low) / 2;
        (table.rows[middle].first_segment <= begin ? low : high) = middle;
    }
    tensor_row const* row = table.rows + low;
    while (begin < end) {
        const std::int64_t local = begin - row->first_segment;
        const std::int64_t left = segments_of(row->size) - local;
        const std::int64_t segments = end - begin < left ? end - begin : left;
        const std::int64_t first = local * segment_elements;
        const std::int64_t elements = segments < left ? segments * segment_elements : row->size - first;
        f(*row, first, elements, begin);
        begin += segments;
        ++row;
    }
}

/// The same for all segments of a table, shared out to `threads` threads.
HS_NOINLINE inline void walk_in_parallel(
    group_rows const& table, int threads,
    function_ref<void(tensor_row const&, std::int64_t, std::int64_t, std::int64_t)> f) {
    parallel(threads, [&](int thread, int count) {
        const work_range part = share(table.segments, thread, count);
        walk_segments(table, part.begin, part.end, f);
    });
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
