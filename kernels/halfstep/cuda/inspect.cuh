// SPDX-License-Identifier: Apache-2.0
/// The read of the gradients on the device; the last block to finish folds the partial sums and decides.
#pragma once

#include <cstdint>

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

#include <halfstep/concepts/overflow_detection.hpp>
#include <halfstep/core/layout.hpp>
#include <halfstep/cuda/rows.cuh>
#include <halfstep/cuda/vector_access.cuh>

namespace halfstep::cuda_detail {

inline constexpr int inspect_threads = 256;
/// A segment is read by so many threads side by side: 64 chains, eight a thread.
inline constexpr int threads_per_segment = 8;
inline constexpr int segments_per_block = inspect_threads / threads_per_segment;

/// The gradients of one group in a launch.
template <class Detection>
struct inspect_part {
    tensor_row const* rows;
    std::int64_t row_count;
    std::int64_t segments;
    segment_partial* partials;
    std::int64_t first_block;
    Detection detection;
};
/// All groups of a launch.
template <class Detection, int Count>
struct inspect_parts {
    inspect_part<Detection> part[Count];
};

struct plus {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct larger {
    __device__ __forceinline__ float operator()(float a, float b) const { return a < b ? b : a; }
};

template <class T, class Detection>
__device__ __forceinline__ bool is_flagged(Detection const& detection, T stored, float value) {
    if constexpr (!bit_detection<Detection, T>)
        return detection.flags(value);
    else if constexpr (std::is_same_v<T, float>)
        return detection.template flags_bits<T>(bits_of(stored));
    else
        return detection.template flags_bits<T>(std::uint32_t{stored.bits});
}

/// One thread's eighth of a segment: chain `c` of its row of 64 is element `c` modulo 64, so a thread with vectors of
/// `N` elements holds chains N t … N t + N - 1, and for N = 4 the same plus 32.
template <gradient_statistics Wanted, class T, class Detection>
__device__ segment_partial inspect_segment(T const* gradient, int n, Detection const& detection) {
    constexpr int width = sizeof(T) == 4 ? 4 : 8;
    constexpr int vectors = 8 / width;
    const int lane = static_cast<int>(threadIdx.x) % threads_per_segment;
    float chain[vectors][width] = {};
    float largest = 0;
    unsigned flagged = 0;  // in a register: a predicate that lives through the loop was spilled

    const auto add = [&](int v, int j, T stored, bool& any) {
        const float value = widen(stored);
        if constexpr (value_detection<Detection> || bit_detection<Detection, T>)
            any = any | is_flagged(detection, stored, value);
        if constexpr (Wanted.sum_of_squares) chain[v][j] = halfstep::fma(value, value, chain[v][j]);
        if constexpr (Wanted.largest_magnitude)
            largest = halfstep::abs(value) > largest ? halfstep::abs(value) : largest;
    };
    const int whole = is_aligned<width>(gradient) ? n / sum_chains * sum_chains : 0;
#pragma unroll 4
    for (int row = 0; row < whole; row += sum_chains)
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            T stored[width];
            bool any = false;
            load<width>(gradient + row + (v * threads_per_segment + lane) * width, stored);
#pragma unroll
            for (int j = 0; j < width; ++j) add(v, j, stored[j], any);
            flagged |= any ? 1 : 0;
        }
    for (int row = whole; row < n; row += sum_chains)
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            bool any = false;
#pragma unroll
            for (int j = 0; j < width; ++j) {
                const int i = row + (v * threads_per_segment + lane) * width + j;
                if (i < n) add(v, j, gradient[i], any);
            }
            flagged |= any ? 1 : 0;
        }

    segment_partial partial;
    if constexpr (Wanted.sum_of_squares) {
        using reduce = cub::WarpReduce<float, threads_per_segment>;
        __shared__ typename reduce::TempStorage storage[segments_per_block][vectors];
        float sum[vectors];
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
#pragma unroll
            for (int distance = 1; distance < width; distance *= 2)
#pragma unroll
                for (int j = 0; j < width; j += 2 * distance) chain[v][j] += chain[v][j + distance];
            sum[v] = reduce(storage[threadIdx.x / threads_per_segment][v]).Reduce(chain[v][0], plus{});
        }
        partial.sum_of_squares = sum[0];
        if constexpr (vectors == 2) partial.sum_of_squares += sum[1];
    }
    if constexpr (Wanted.largest_magnitude) {
        using reduce = cub::WarpReduce<float, threads_per_segment>;
        __shared__ typename reduce::TempStorage storage[segments_per_block];
        partial.largest_magnitude = reduce(storage[threadIdx.x / threads_per_segment]).Reduce(largest, larger{});
    }
    const unsigned group = 0xFFu << (threadIdx.x % 32 / threads_per_segment * threads_per_segment);
    partial.flagged = (__ballot_sync(0xFFFFFFFFu, flagged != 0) & group) != 0 ? 1 : 0;
    return partial;
}

/// The partials of one group added up as `partial_fold` does: 256 chains, 32 of them pairwise, eight results in a row.
__device__ inline gradient_report fold_partials(segment_partial const* partials, std::int64_t count) {
    using reduce = cub::BlockReduce<double, inspect_threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    using reduce_largest = cub::BlockReduce<float, inspect_threads>;
    __shared__ typename reduce::TempStorage storage;
    __shared__ typename reduce_largest::TempStorage storage_of_largest;
    double sum = 0;
    float largest = 0;
    bool flagged = false;
    for (std::int64_t i = threadIdx.x; i < count; i += inspect_threads) {
        segment_partial const volatile& written_by_others = partials[i];
        const float magnitude = written_by_others.largest_magnitude;
        sum += static_cast<double>(written_by_others.sum_of_squares);
        largest = magnitude > largest ? magnitude : largest;
        flagged = flagged || written_by_others.flagged != 0;
    }
    gradient_report report;
    report.sum_of_squares = reduce(storage).Reduce(sum, plus{});
    report.largest_magnitude = reduce_largest(storage_of_largest).Reduce(largest, larger{});
    report.flagged = __syncthreads_or(flagged ? 1 : 0) != 0;
    return report;  // of thread 0
}

/// A launch after which nothing is decided: another group's follows.
struct no_finish {
    __device__ void operator()() const {}
};

/// `finish` runs in the last block to get there, with all its threads, when every partial of this and earlier launches
/// is written. `finished_blocks` counts to the grid's size and is zero again afterwards.
template <class T, class Wanted, class Detection, int Count, class Finish>
__global__ void __launch_bounds__(inspect_threads)
    inspect_kernel(inspect_parts<Detection, Count> parts, Finish finish, unsigned* finished_blocks) {
    int p = 0;
    while (p + 1 < Count && static_cast<std::int64_t>(blockIdx.x) >= parts.part[p + 1].first_block) ++p;
    inspect_part<Detection> const& table = parts.part[p];
    const std::int64_t segment = (static_cast<std::int64_t>(blockIdx.x) - table.first_block) * segments_per_block +
                                 threadIdx.x / threads_per_segment;
    // All threads of a warp take part in its ballots and shuffles, with nothing where there is no segment.
    T const* gradient = nullptr;
    std::int64_t n = 0;
    if (segment < table.segments) {
        tensor_row const& row = table.rows[find_row(table.rows, table.row_count, segment)];
        const std::int64_t first = (segment - row.first_segment) * segment_elements;
        if (row.gradient != nullptr) {
            gradient = static_cast<T const*>(row.gradient) + first;
            n = row.size - first < segment_elements ? row.size - first : segment_elements;
        }
    }
    const segment_partial partial = inspect_segment<Wanted::value>(gradient, static_cast<int>(n), table.detection);
    if (segment < table.segments && threadIdx.x % threads_per_segment == 0) table.partials[segment] = partial;

    if constexpr (!std::is_same_v<Finish, no_finish>) {
        __shared__ bool last;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) last = atomicInc(finished_blocks, gridDim.x - 1) == gridDim.x - 1;
        __syncthreads();
        if (last) {
            __threadfence();
            finish();
        }
    }
}

}  // namespace halfstep::cuda_detail
