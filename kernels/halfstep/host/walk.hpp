// SPDX-License-Identifier: Apache-2.0
/// Visits a range of a group's segments, stretch by stretch.
#pragma once

#include <algorithm>
#include <cstdint>

#include <halfstep/core/layout.hpp>

namespace halfstep::host {

/// `f(row, first_element, elements, first_segment)` for each stretch of consecutive segments of one row that lies in
/// segments [begin, end) of the table.
template <class Table, class F>
void walk_segments(Table const& table, std::int64_t begin, std::int64_t end, F&& f) {
    if (begin >= end) return;
    auto* row = std::upper_bound(table.rows, table.rows + table.row_count, begin,
                                 [](std::int64_t segment, auto const& r) { return segment < r.first_segment; }) -
                1;
    while (begin < end) {
        const std::int64_t local = begin - row->first_segment;
        const std::int64_t segments = std::min(end - begin, segments_of(row->size) - local);
        const std::int64_t first = local * segment_elements;
        f(*row, first, std::min(row->size - first, segments * segment_elements), begin);
        begin += segments;
        ++row;
    }
}

}  // namespace halfstep::host
