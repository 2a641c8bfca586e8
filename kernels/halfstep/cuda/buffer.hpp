// SPDX-License-Identifier: Apache-2.0
/// Zeroed device memory.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <halfstep/cuda/error.hpp>

namespace halfstep::cuda_detail {

class buffer {
  public:
    buffer() = default;
    /// On the current device, zeroed in the order of `stream`. Throws cuda_error.
    buffer(std::size_t bytes, cudaStream_t stream) {
        if (bytes == 0) return;
        void* memory = nullptr;
        if (const cudaError_t code = cudaMalloc(&memory, bytes); code != cudaSuccess)
            throw cuda_error("cudaMalloc of " + std::to_string(bytes) + " bytes", code);
        memory_ = static_cast<std::byte*>(memory);
        if (const cudaError_t code = cudaMemsetAsync(memory_, 0, bytes, stream); code != cudaSuccess) {
            cudaFree(std::exchange(memory_, nullptr));
            throw cuda_error("cudaMemsetAsync", code);
        }
    }
    buffer(buffer&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    buffer& operator=(buffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~buffer() {
        if (memory_ != nullptr) cudaFree(memory_);
    }
    std::byte* data() const { return memory_; }

  private:
    std::byte* memory_ = nullptr;
};

}  // namespace halfstep::cuda_detail
