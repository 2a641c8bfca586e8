// SPDX-License-Identifier: Apache-2.0
/// Pinned host memory that copies to a device start from: the caller's bytes may go at once, and nobody waits.
#pragma once

#include <cstddef>
#include <cstring>
#include <list>

#include <halfstep/cuda/error.hpp>

namespace halfstep::cuda_detail {

/// A slot is taken again once the stream has passed the copy out of it. While none is free a new one is made, so there
/// are never more slots than copies under way.
class staging {
  public:
    staging() = default;
    staging(staging const&) noexcept {}  // a copy of a backend has slots of its own
    staging& operator=(staging const&) = delete;

    /// Copies `bytes` to `to` in the order of `stream`. Throws cuda_error.
    void copy(std::byte* to, std::byte const* from, std::size_t bytes, cudaStream_t stream) {
        slot& free = free_slot(bytes);
        std::memcpy(free.memory, from, bytes);
        check(cudaMemcpyAsync(to, free.memory, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync to the device");
        check(cudaEventRecord(free.passed, stream), "cudaEventRecord");
    }

  private:
    struct slot {
        explicit slot(std::size_t size) : size(size) {
            check(cudaMallocHost(reinterpret_cast<void**>(&memory), size), "cudaMallocHost");
            if (const cudaError_t code = cudaEventCreateWithFlags(&passed, cudaEventDisableTiming);
                code != cudaSuccess) {
                cudaFreeHost(memory);
                throw cuda_error("cudaEventCreateWithFlags", code);
            }
        }
        ~slot() {
            cudaEventSynchronize(passed);  // the copy may still read the memory
            cudaEventDestroy(passed);
            cudaFreeHost(memory);
        }
        slot(slot const&) = delete;
        slot& operator=(slot const&) = delete;

        std::size_t size;
        std::byte* memory = nullptr;
        cudaEvent_t passed = nullptr;
    };

    slot& free_slot(std::size_t bytes) {
        for (slot& s : slots_) {
            if (s.size < bytes) continue;
            const cudaError_t code = cudaEventQuery(s.passed);
            if (code == cudaSuccess) return s;
            if (code != cudaErrorNotReady) throw cuda_error("cudaEventQuery", code);
        }
        return slots_.emplace_back(bytes);
    }

    std::list<slot> slots_;
};

}  // namespace halfstep::cuda_detail
