// SPDX-License-Identifier: Apache-2.0
/// The update pass on the device: one launch for all groups of one element layout.
#pragma once

#include <cstdint>

#include <halfstep/core/layout.hpp>
#include <halfstep/cuda/launch_tuning.hpp>
#include <halfstep/cuda/rows.cuh>
#include <halfstep/cuda/vector_access.cuh>
#include <halfstep/element_update.hpp>

namespace halfstep::cuda_detail {

/// Elements a thread takes at once: 16 bytes of the widest stream.
template <class Layout>
inline constexpr int update_width = [] {
    std::size_t widest = sizeof(typename Layout::type);
    const auto also = [&](std::size_t size) { widest = size > widest ? size : widest; };
    also(sizeof(typename Layout::gradient_type));
    if (!std::is_empty_v<typename Layout::companion>) also(sizeof(typename Layout::companion));
    if (Layout::moments > 0) also(sizeof(typename Layout::moment));
    return static_cast<int>(16 / widest);
}();

/// One group of a launch.
template <class Layout, class Policies>
struct update_part {
    group_table<Layout> table;
    Policies policies;
    group_decision<typename Layout::rule::coefficients> const* decision;
    std::int64_t first_block;
};

/// All groups of a launch.
template <class Layout, class Policies, int Count>
struct update_parts {
    update_part<Layout, Policies> part[Count];
};

/// What a block needs of its group's decision and its row, read once.
template <class Layout>
struct block_work {
    typename Layout::rule::coefficients coefficients;
    typename Layout::type* parameter;
    typename Layout::gradient_type const* gradient;
    typename Layout::companion* companions;
    typename Layout::moment* moments;
    std::int64_t moment_stride;
    noise_key key;
    noise_key next_key;  ///< beyond the next multiple of 2^32 in the group's index space
    std::uint32_t first_index;
    float gradient_factor;
    int size;
};

/// Advances elements [i, i + N) of a block's segment. Several at a time share a noise key.
template <int N, class Layout, class Policies>
__device__ __forceinline__ void update_elements(Policies const& policies, block_work<Layout> const& work, int i) {
    using companion_type = typename Layout::companion;
    using moment_type = typename Layout::moment;
    constexpr int moments = Layout::moments;
    constexpr bool has_companion = !std::is_empty_v<companion_type>;
    typename Layout::type parameter[N];
    typename Layout::gradient_type gradient[N];
    companion_type companion[N];
    moment_type moment[moments > 0 ? moments : 1][N];

    load<N>(work.gradient + i, gradient);
    load<N>(work.parameter + i, parameter);
    if constexpr (has_companion) load<N>(work.companions + i, companion);
#pragma unroll
    for (int k = 0; k < moments; ++k) load<N>(work.moments + k * work.moment_stride + i, moment[k]);

#pragma unroll
    for (int j = 0; j < N; ++j) {
        values<moment_type, moments> own;
        if constexpr (moments > 0)
#pragma unroll
            for (int k = 0; k < moments; ++k) own[k] = moment[k][j];
        const std::uint32_t index = work.first_index + static_cast<std::uint32_t>(i + j);
        noise<float> random{work.key, index};
        if constexpr (N == 1)
            if (index < work.first_index) random.key = work.next_key;
        update_element(policies, work.coefficients, work.gradient_factor, widen(gradient[j]), parameter[j],
                       companion[j], own, random);
        if constexpr (moments > 0)
#pragma unroll
            for (int k = 0; k < moments; ++k) moment[k][j] = own[k];
    }

    store<N>(work.parameter + i, parameter);
    if constexpr (has_companion) store<N>(work.companions + i, companion);
#pragma unroll
    for (int k = 0; k < moments; ++k) store<N>(work.moments + k * work.moment_stride + i, moment[k]);
}

/// Prepares a block: finds its segment's row, and counts the step for a row without a gradient. `work.size` 0: nothing
/// to do.
template <class Layout, class Policies>
__device__ void prepare_block(update_part<Layout, Policies> const& part, block_work<Layout>& work) {
    work.size = 0;
    auto const& decision = *part.decision;
    if (!decision.apply) return;  // a skipped step leaves every byte
    auto const& table = part.table;
    const std::int64_t segment = static_cast<std::int64_t>(blockIdx.x) - part.first_block;
    const std::int64_t r = find_row(table.rows, table.row_count, segment);
    auto const& row = table.rows[r];
    if (row.gradient == nullptr) {
        if (segment == row.first_segment) ++table.missed_steps[r];
        return;
    }
    const std::int64_t first = (segment - row.first_segment) * segment_elements;
    const std::int64_t missed = table.missed_steps[r];
    if (missed != 0) {  // a tensor counts its own updates
        rule_input in = decision.rule;
        in.step -= missed;
        work.coefficients = part.policies.rule.prepare(in);
    } else {
        work.coefficients = decision.coefficients;
    }
    const std::int64_t state = row.state_offset + first;
    work.parameter = table.parameter(row) + first;
    work.gradient = table.gradient(row) + first;
    work.companions = table.companions + state;
    work.moments = table.moments + state;
    work.moment_stride = table.moment_stride;
    work.gradient_factor = decision.gradient_factor;
    const auto index = static_cast<std::uint64_t>(row.first_index + first);
    const auto step = static_cast<std::uint64_t>(decision.rule.step);
    const auto high = static_cast<std::uint32_t>(index >> 32);
    work.first_index = static_cast<std::uint32_t>(index);
    work.key = make_noise_key(part.policies.seed, step, table.ordinal, high);
    work.next_key = make_noise_key(part.policies.seed, step, table.ordinal, high + 1);
    work.size = static_cast<int>(row.size - first < segment_elements ? row.size - first : segment_elements);
}

/// A block a segment.
template <class Layout, class Policies, int Count>
__global__ void __launch_bounds__(launch_tuning::most_threads)
    update_kernel(update_parts<Layout, Policies, Count> parts) {
    __shared__ alignas(block_work<Layout>) unsigned char memory[sizeof(block_work<Layout>)];
    block_work<Layout>& work = *reinterpret_cast<block_work<Layout>*>(memory);
    int p = 0;
    while (p + 1 < Count && static_cast<std::int64_t>(blockIdx.x) >= parts.part[p + 1].first_block) ++p;
    update_part<Layout, Policies> const& part = parts.part[p];
    if (threadIdx.x == 0) prepare_block(part, work);
    __syncthreads();
    const block_work<Layout> own = work;
    constexpr int width = update_width<Layout>;
    const bool one_key = own.first_index + static_cast<std::uint32_t>(own.size) >= own.first_index;
    const bool wide = one_key && is_aligned<width>(own.parameter) && is_aligned<width>(own.gradient);
    const int whole = wide ? own.size / width * width : 0;
    const int thread = static_cast<int>(threadIdx.x), count = static_cast<int>(blockDim.x);
    for (int i = width * thread; i < whole; i += width * count) update_elements<width>(part.policies, own, i);
    // What is left of an odd tensor; all of one that its owner did not align, where neighbours still share a sector.
    for (int i = whole + thread; i < own.size; i += count) update_elements<1>(part.policies, own, i);
}

/// Companions from the parameters as they are.
template <class Layout, class Storage>
__global__ void __launch_bounds__(launch_tuning::most_threads)
    initialise_kernel(group_table<Layout> table, Storage storage) {
    const auto segment = static_cast<std::int64_t>(blockIdx.x);
    auto const& row = table.rows[find_row(table.rows, table.row_count, segment)];
    const std::int64_t first = (segment - row.first_segment) * segment_elements;
    const std::int64_t n = row.size - first < segment_elements ? row.size - first : segment_elements;
    for (std::int64_t i = first + threadIdx.x; i < first + n; i += blockDim.x)
        table.companions[row.state_offset + i] = storage.initial(table.parameter(row)[i]);
}

}  // namespace halfstep::cuda_detail
