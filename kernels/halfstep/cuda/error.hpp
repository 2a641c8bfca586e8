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
    cuda_error(char const* call, cudaError_t code)
        : std::runtime_error(std::string("halfstep: ") + call + " failed: " + cudaGetErrorName(code) + " (" +
                             cudaGetErrorString(code) + ")"),
          code_(code) {}
    cudaError_t code() const { return code_; }

  private:
    cudaError_t code_;
};

namespace cuda_detail {

inline void check(cudaError_t code, char const* call) {
    if (code != cudaSuccess) throw cuda_error(call, code);
}

/// Makes `device` the current one, and restores the caller's.
class device_guard {
  public:
    explicit device_guard(int device) {
        check(cudaGetDevice(&before_), "cudaGetDevice");
        if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice");
        else before_ = -1;
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
