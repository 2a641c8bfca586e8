// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend: two launches a step on the caller's stream, and the host never waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#include <halfstep/compose/decide.hpp>
#include <halfstep/concepts/execution_backend.hpp>
#include <halfstep/cuda/alike.hpp>
#include <halfstep/cuda/buffer.hpp>
#include <halfstep/cuda/error.hpp>
#include <halfstep/cuda/inspect.cuh>
#include <halfstep/cuda/launch_tuning.hpp>
#include <halfstep/cuda/runs_on_device.hpp>
#include <halfstep/cuda/staging.hpp>
#include <halfstep/cuda/tensor_reports.cuh>
#include <halfstep/cuda/update.cuh>

namespace halfstep {

namespace cuda_detail {

/// What a group's inspection left for the last block.
struct finished_group {
    segment_partial const* partials;
    std::int64_t segments;
};

/// Folds every group's partials and decides. With `Step` false it only notes the verdict on a micro-batch.
template <class Composition, bool Step>
struct decide_finish {
    typename Composition::policy_values policies;
    typename Composition::control_block* control;
    step_record* ring;
    int ring_size;
    step_input in;
    finished_group group[Composition::group_count];

    __device__ void operator()() const {
#pragma unroll 1
        for (std::size_t g = 0; g < Composition::group_count; ++g) {
            if (group[g].partials == nullptr) continue;
            const gradient_report report = fold_partials(group[g].partials, group[g].segments);
            if (threadIdx.x == 0) control->reports[g] = report;
            __syncthreads();
        }
        if (threadIdx.x != 0) return;
        if constexpr (Step) {
            decide<Composition>(policies, *control, in);
            if (ring != nullptr) ring[control->steps % ring_size] = control->last;
        } else {
            note_micro_batch<Composition>(policies, *control);
        }
    }
};

template <class Finish>
__global__ void __launch_bounds__(inspect_threads) decide_kernel(Finish finish) {
    finish();
}

}  // namespace cuda_detail

/// Runs steps on a CUDA device, over device memory of the caller, in the order of one stream.
///
/// A step is two launches for all groups of one element layout (more for further layouts, and for other detections),
/// without allocation, copy or host synchronisation; it may be captured in a graph, with the learning rate in device
/// memory (`step_input::lr_in_memory`). The same bits as host_backend. Every call is checked: a failure throws
/// cuda_error, and the step is usable again once its cause is gone.
class cuda_backend {
  public:
    using slot = execution_backend_slot;
    static constexpr bool device_memory = true;
    static constexpr bool synchronous = false;
    using buffer = cuda_detail::buffer;

    /// On the device of `stream`; without one, on the current device's default stream.
    explicit cuda_backend(cudaStream_t stream = nullptr) : stream_(stream) {
        cuda_detail::check_nothing_failed_before();
        if (stream == nullptr)
            cuda_detail::check(cudaGetDevice(&device_), "cudaGetDevice");
        else
            cuda_detail::check(cudaStreamGetDevice(stream, &device_), "cudaStreamGetDevice");
        int major = 0, minor = 0;
        cuda_detail::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_),
                           "cudaDeviceGetAttribute");
        cuda_detail::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_),
                           "cudaDeviceGetAttribute");
        tuning_ = tuning_for(10 * major + minor);
    }
    /// The same with a tile shape of one's own, for measurements.
    cuda_backend(cudaStream_t stream, launch_tuning tuning) : cuda_backend(stream) { tuning_ = tuning; }

    cudaStream_t stream() const { return stream_; }
    int device() const { return device_; }

    buffer allocate(std::size_t bytes) const {
        const cuda_detail::device_guard guard(device_);
        cuda_detail::refuse_capture(stream_);
        return buffer(bytes, stream_);
    }
    void write(std::byte* to, std::byte const* from, std::size_t bytes) const {
        const cuda_detail::device_guard guard(device_);
        cuda_detail::refuse_capture(stream_);
        staging_.copy(to, from, bytes, stream_);
    }
    void read(std::byte* to, std::byte const* from, std::size_t bytes) const {
        const cuda_detail::device_guard guard(device_);
        cuda_detail::refuse_capture(stream_);
        cuda_detail::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
                           "cudaMemcpyAsync to the host");
        cuda_detail::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }
    /// Why `data` cannot be bound to a step on this device, or an empty text.
    std::string objection_to(void const* data) const {
        cudaPointerAttributes attributes{};
        cuda_detail::check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
        if (attributes.type == cudaMemoryTypeUnregistered || attributes.type == cudaMemoryTypeHost)
            return "lies in host memory, but the step runs on a device";
        if (attributes.type == cudaMemoryTypeDevice && attributes.device != device_)
            return "lies on device " + std::to_string(attributes.device) + ", but the step runs on device " +
                   std::to_string(device_);
        return {};
    }

    template <class Values, class Layout>
    void initialise(Values const& policies, group_table<Layout> const& table) const {
        if constexpr (!std::is_empty_v<typename Layout::companion>) {
            if (table.segments == 0) return;
            const cuda_detail::device_guard guard(device_);
            cuda_detail::initialise_kernel<<<grid(table.segments), threads(), 0, stream_>>>(table, policies.storage);
            launched("the kernel that makes companions");
        }
    }

    template <class Table>
    std::vector<gradient_report> tensor_reports(Table const& table) const {
        const cuda_detail::device_guard guard(device_);
        cuda_detail::refuse_capture(stream_);
        return cuda_detail::reduce_rows(table, stream_);
    }

    template <class Context>
    void inspect(Context& context) {
        cuda_detail::require_runs<typename Context::composition, typename Context::communicator>();
        const cuda_detail::device_guard guard(device_);
        cuda_detail::check_nothing_failed_before();
        look<false>(context, step_input{});
    }
    template <class Context>
    void run(Context& context, step_input const& in) {
        cuda_detail::require_runs<typename Context::composition, typename Context::communicator>();
        const cuda_detail::device_guard guard(device_);
        cuda_detail::check_nothing_failed_before();
        look<true>(context, in);
        update(context);
    }

  private:
    static unsigned grid(std::int64_t blocks) {
        if (blocks > 0x7FFFFFFF)
            throw std::length_error("halfstep: a group has more segments than a CUDA grid has blocks");
        return static_cast<unsigned>(blocks);
    }
    unsigned threads() const { return static_cast<unsigned>(tuning_.update_threads); }
    static void launched(char const* what) { cuda_detail::check(cudaGetLastError(), what); }

    /// Inspects group after group; the last launch decides.
    template <bool Step, class Context>
    void look(Context& context, step_input const& in) {
        using composition = typename Context::composition;
        unsigned* const counter = &context.control_memory()->finished_blocks;

        cuda_detail::decide_finish<composition, Step> finish{
            context.policies(), context.control_memory(), context.ring_memory(), record_ring_size, in, {}};
        context.for_each_table([&](auto const&, auto const& table, auto g) {
            if constexpr (composition::template inspection<g>::looks)
                finish.group[g] = {table.partials, table.segments};
        });
        context.for_each_table([&](auto const& policies, auto const& table, auto g) {
            if constexpr (cuda_detail::leads<composition, cuda_detail::same_inspection, g>) {
                using gradient = typename std::remove_cvref_t<decltype(table)>::gradient_type;
                using detection = std::remove_cvref_t<decltype(policies.detection)>;
                using wanted = cuda_detail::wanted_by_group<composition, g>;
                constexpr bool last = cuda_detail::last_inspection<composition> == g;
                cuda_detail::inspect_parts<detection,
                                           cuda_detail::followers<composition, cuda_detail::same_inspection, g>>
                    parts{};
                int p = 0;
                std::int64_t blocks = 0;
                context.for_each_table([&](auto const& own, auto const& own_table, auto h) {
                    if constexpr (cuda_detail::same_inspection<composition, g, h>::value) {
                        parts.part[p++] = {own_table.rows, own_table.row_count, own_table.segments, own_table.partials,
                                           blocks,         own.detection};
                        blocks += (own_table.segments + cuda_detail::segments_per_block - 1) /
                                  cuda_detail::segments_per_block;
                    }
                });
                if (blocks == 0) {
                    if (!last) return;
                    blocks = 1;  // looks at nothing, and decides
                }
                const auto launch = [&](auto what) {
                    cuda_detail::inspect_kernel<gradient, wanted>
                        <<<grid(blocks), cuda_detail::inspect_threads, 0, stream_>>>(parts, what, counter);
                };
                if constexpr (last)
                    launch(finish);
                else
                    launch(cuda_detail::no_finish{});
                launched("the kernel that inspects gradients");
            }
        });
        if constexpr (cuda_detail::last_inspection<composition> ==
                      composition::group_count) {  // nobody looks at elements
            cuda_detail::decide_kernel<<<1, cuda_detail::inspect_threads, 0, stream_>>>(finish);
            launched("the kernel that decides");
        }
    }

    /// One launch for all groups of one element layout.
    template <class Context>
    void update(Context& context) {
        using composition = typename Context::composition;
        context.for_each_table([&](auto const&, auto const& table, auto g) {
            if constexpr (cuda_detail::leads<composition, cuda_detail::same_update, g>) {
                using layout = typename std::remove_cvref_t<decltype(table)>::layout;
                constexpr int count = cuda_detail::followers<composition, cuda_detail::same_update, g>;
                using policies_type = element_policies<typename layout::storage, typename layout::state,
                                                       typename composition::clipping, typename layout::rule>;
                cuda_detail::update_parts<layout, policies_type, count> parts{};
                int p = 0;
                std::int64_t blocks = 0;
                context.for_each_table([&](auto const& own, auto const& own_table, auto h) {
                    if constexpr (cuda_detail::same_update<composition, g, h>::value) {
                        parts.part[p++] = {own_table, gather_policies<layout>(own, context.policies().clipping),
                                           &get<h>(context.control_memory()->decisions), blocks};
                        blocks += own_table.segments;
                    }
                });
                if (blocks == 0) return;
                cuda_detail::update_kernel<<<grid(blocks), threads(), 0, stream_>>>(parts);
                launched("the kernel that updates");
            }
        });
    }

    cudaStream_t stream_;
    int device_ = 0;
    launch_tuning tuning_;
    mutable cuda_detail::staging staging_;
};

}  // namespace halfstep
