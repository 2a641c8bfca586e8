// SPDX-License-Identifier: Apache-2.0
/// Time on a stream, by events.
#pragma once

#include "cuda_resources.hpp"

namespace picture_fit {

class stopwatch {
  public:
    explicit stopwatch(cudaStream_t stream) : stream_(stream) {
        check(cudaEventCreate(&start_), "cudaEventCreate");
        check(cudaEventCreate(&stop_), "cudaEventCreate");
        check(cudaEventRecord(start_, stream), "cudaEventRecord");
    }
    stopwatch(stopwatch const&) = delete;
    stopwatch& operator=(stopwatch const&) = delete;
    ~stopwatch() {
        cudaEventDestroy(start_);
        cudaEventDestroy(stop_);
    }
    /// Since construction. Waits.
    double microseconds() {
        float milliseconds = 0;
        check(cudaEventRecord(stop_, stream_), "cudaEventRecord");
        check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
        return 1000.0 * static_cast<double>(milliseconds);
    }

  private:
    cudaStream_t stream_;
    cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace picture_fit
