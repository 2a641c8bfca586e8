// SPDX-License-Identifier: Apache-2.0
/// Memory and a stream as another library hands them out: on a device, or with HALFSTEP_ON_HOST in host memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>
#if !defined(HALFSTEP_ON_HOST)
#include <cuda_runtime_api.h>
#endif

class others_memory {
  public:
    explicit others_memory(std::size_t bytes) : bytes_(bytes) {
        if (bytes == 0) return;
#if defined(HALFSTEP_ON_HOST)
        data_ = std::malloc(bytes);
#else
        cudaMalloc(&data_, bytes);
#endif
    }
    others_memory(others_memory&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
    ~others_memory() {
#if defined(HALFSTEP_ON_HOST)
        std::free(data_);
#else
        cudaFree(data_);
#endif
    }
    void* data() const { return data_; }
    void write(void const* from) { copy(data_, from, bytes_); }
    void read(void* to) const { copy(to, data_, bytes_); }
    static float value_at(float const* place) {
        float value = 0;
        copy(&value, place, sizeof value);
        return value;
    }
#if defined(HALFSTEP_ON_HOST)
    static constexpr bool on_device = false;
#else
    static constexpr bool on_device = true;
#endif

  private:
    static void copy(void* to, void const* from, std::size_t bytes) {
        if (bytes == 0) return;
#if defined(HALFSTEP_ON_HOST)
        std::memcpy(to, from, bytes);
#else
        cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
#endif
    }
    std::size_t bytes_;
    void* data_ = nullptr;
};

class others_stream {
  public:
#if defined(HALFSTEP_ON_HOST)
    operator void*() const { return nullptr; }
#else
    others_stream() { cudaStreamCreate(&stream_); }
    others_stream(others_stream const&) = delete;
    others_stream& operator=(others_stream const&) = delete;
    ~others_stream() { cudaStreamDestroy(stream_); }
    operator void*() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
#endif
};
