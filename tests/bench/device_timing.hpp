// SPDX-License-Identifier: Apache-2.0
/// Graphs and medians by events, for measurements.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <halfstep/cuda/error.hpp>
#include <vector>

namespace bench {

inline void succeeded(cudaError_t code) {
    if (code != cudaSuccess) throw halfstep::cuda_error("a call of the benchmark", code);
}

class timing_event {
  public:
    timing_event() { succeeded(cudaEventCreate(&event_)); }
    timing_event(timing_event const&) = delete;
    timing_event& operator=(timing_event const&) = delete;
    ~timing_event() { cudaEventDestroy(event_); }
    operator cudaEvent_t() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

/// What `work` launches, and how many nodes that are.
class captured_graph {
  public:
    template <class Work>
    captured_graph(cudaStream_t stream, Work&& work) : stream_(stream) {
        succeeded(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        work();
        succeeded(cudaStreamEndCapture(stream, &graph_));
        succeeded(cudaGraphGetNodes(graph_, nullptr, &nodes_));
        succeeded(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    captured_graph(captured_graph const&) = delete;
    captured_graph& operator=(captured_graph const&) = delete;
    ~captured_graph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    void launch() const { succeeded(cudaGraphLaunch(executable_, stream_)); }
    std::size_t nodes() const { return nodes_; }

  private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
    std::size_t nodes_ = 0;
};

/// Seconds that `work` takes on the stream, the median of batches of a millisecond or more; for `seconds`, and at least
/// five batches.
template <class Work>
double median_seconds(cudaStream_t stream, double seconds, Work&& work) {
    const timing_event start, stop;
    const auto batch = [&](int repeats) {
        succeeded(cudaEventRecord(start, stream));
        for (int i = 0; i < repeats; ++i) work();
        succeeded(cudaEventRecord(stop, stream));
        succeeded(cudaEventSynchronize(stop));
        float milliseconds = 0;
        succeeded(cudaEventElapsedTime(&milliseconds, start, stop));
        return static_cast<double>(milliseconds) / 1000 / repeats;
    };
    batch(1);  // loads kernels
    const double once = batch(1);
    const int repeats = once < 1e-3 ? static_cast<int>(std::min(100.0, 1e-3 / std::max(once, 1e-6))) : 1;
    std::vector<double> taken;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (taken.size() < 5 || (taken.size() < 201 && std::chrono::steady_clock::now() < end))
        taken.push_back(batch(repeats));
    const auto middle = taken.begin() + static_cast<std::ptrdiff_t>(taken.size() / 2);
    std::nth_element(taken.begin(), middle, taken.end());
    return *middle;
}

}  // namespace bench
