// SPDX-License-Identifier: Apache-2.0
/// A report on each row of a group, reduced on the device from the partials of its segments.
#pragma once

#include <cstdint>
#include <vector>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_segmented_reduce.cuh>

#include <halfstep/core/layout.hpp>
#include <halfstep/cuda/buffer.hpp>
#include <halfstep/cuda/error.hpp>

namespace halfstep::cuda_detail {

/// The statistics of any number of segments.
struct row_statistics {
    double sum_of_squares = 0;
    float largest_magnitude = 0;
    std::uint32_t flagged = 0;
};
struct combine {
    __host__ __device__ row_statistics operator()(row_statistics const& a, row_statistics const& b) const {
        return {a.sum_of_squares + b.sum_of_squares,
                a.largest_magnitude < b.largest_magnitude ? b.largest_magnitude : a.largest_magnitude,
                a.flagged | b.flagged};
    }
};
/// Segment `i` of a group.
struct statistics_at {
    segment_partial const* partials;
    __host__ __device__ row_statistics operator()(std::int64_t i) const {
        return {static_cast<double>(partials[i].sum_of_squares), partials[i].largest_magnitude, partials[i].flagged};
    }
};
/// First segment of row `r`, or the one after its last.
struct border_of_row {
    tensor_row const* rows;
    bool end;
    __host__ __device__ std::int64_t operator()(std::int64_t r) const {
        return rows[r].first_segment + (end ? segments_of(rows[r].size) : 0);
    }
};

/// Waits for `stream`. Throws cuda_error.
inline std::vector<gradient_report> reduce_rows(group_rows const& table, cudaStream_t stream) {
    std::vector<gradient_report> reports(static_cast<std::size_t>(table.row_count));
    if (reports.empty()) return reports;
    const thrust::counting_iterator<std::int64_t> number(0);
    const auto partials = thrust::make_transform_iterator(number, statistics_at{table.partials});
    const auto begins = thrust::make_transform_iterator(number, border_of_row{table.rows, false});
    const auto ends = thrust::make_transform_iterator(number, border_of_row{table.rows, true});
    const buffer memory(reports.size() * sizeof(row_statistics), stream);
    auto* const result = reinterpret_cast<row_statistics*>(memory.data());
    std::size_t bytes = 0;
    const auto reduce = [&](void* scratch) {
        check(cub::DeviceSegmentedReduce::Reduce(scratch, bytes, partials, result, table.row_count, begins, ends,
                                                 combine{}, row_statistics{}, stream),
              "cub::DeviceSegmentedReduce");
    };
    reduce(nullptr);
    const buffer scratch(bytes, stream);
    reduce(scratch.data());
    std::vector<row_statistics> rows(reports.size());
    check(cudaMemcpyAsync(rows.data(), result, rows.size() * sizeof rows[0], cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync to the host");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (std::size_t r = 0; r < rows.size(); ++r) {
        reports[r].flagged = rows[r].flagged != 0;
        reports[r].sum_of_squares = rows[r].sum_of_squares;
        reports[r].largest_magnitude = rows[r].largest_magnitude;
    }
    return reports;
}

}  // namespace halfstep::cuda_detail
