// SPDX-License-Identifier: Apache-2.0
/// Every CUDA call is checked; the exception names it.
#pragma once

#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace halfstep {

/// A CUDA runtime call that failed, or an asynchronous error of an earlier one that it met.
class cuda_error : public std::runtime_error {
  public:
    /// Takes the error off the runtime's record, so that no later call reports it once more.
    cuda_error(std::string const& call, cudaError_t code) : cuda_error(call, code, context_is_lost()) {}
    cudaError_t code() const { return code_; }
    /// Nothing runs on the device in this process any more: the step and all other device memory are gone. False: the
    /// step is usable.
    bool lost_device() const { return lost_device_; }

  private:
    cuda_error(std::string const& call, cudaError_t code, bool lost)
        : std::runtime_error("halfstep: " + call + " failed: " + cudaGetErrorName(code) + " (" +
                             cudaGetErrorString(code) + ")" +
                             (lost ? "; the device's context is lost, and this step with it" : "")),
          code_(code),
          lost_device_(lost) {}
    static bool context_is_lost() {
        cudaGetLastError();
        const bool lost = cudaFree(nullptr) != cudaSuccess;
        cudaGetLastError();
        return lost;
    }

    cudaError_t code_;
    bool lost_device_;
};

namespace cuda_detail {

template <class Text>
void check(cudaError_t code, Text const& call) {
    if (code != cudaSuccess) throw cuda_error(call, code);
}
/// An error that nobody asked for yet is not taken for one of ours.
inline void check_nothing_failed_before() { check(cudaGetLastError(), "a CUDA call before this one"); }

/// A copy in a graph would be replayed with memory that is gone by then, and a wait cannot be captured.
inline void refuse_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusNone)
        throw std::logic_error(
            "halfstep: the step's stream is being captured: a graph takes steps alone; bind and bind_gradients before "
            "it, read_back after");
}

/// Makes `device` the current one, and restores the caller's.
class device_guard {
  public:
    explicit device_guard(int device) {
        check(cudaGetDevice(&before_), "cudaGetDevice");
        if (before_ != device)
            check(cudaSetDevice(device), "cudaSetDevice");
        else
            before_ = -1;
    }
    ~device_guard() {
        if (before_ >= 0) cudaSetDevice(before_);
    }
    device_guard(device_guard const&) = delete;
    device_guard& operator=(device_guard const&) = delete;

  private:
    int before_ = -1;
};

}  // namespace cuda_detail

}  // namespace halfstep
