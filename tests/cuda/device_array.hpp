// SPDX-License-Identifier: Apache-2.0
/// Device memory and a stream of a test, without what Thrust costs to compile.
#pragma once

#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>
#include <halfstep/cuda/error.hpp>

/// `n` zeroed elements on the current device.
template <class T>
class device_array {
  public:
    explicit device_array(std::size_t n = 0) { resize(n); }
    device_array(device_array const&) = delete;
    device_array& operator=(device_array const&) = delete;
    ~device_array() { cudaFree(data_); }

    void resize(std::size_t n) {
        cudaFree(data_);
        data_ = nullptr;
        size_ = n;
        if (n == 0) return;
        check(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)), "cudaMalloc");
        check(cudaMemset(data_, 0, n * sizeof(T)), "cudaMemset");
    }
    template <class Range>
    void write(Range const& values) {
        if (values.size() != size_) resize(values.size());
        if (size_ != 0)
            check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::vector<T> read() const {
        std::vector<T> values(size_);
        if (size_ != 0)
            check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    static void check(cudaError_t code, char const* call) { halfstep::cuda_detail::check(code, call); }
    std::size_t size_ = 0;
    T* data_ = nullptr;
};

class device_stream {
  public:
    device_stream() { halfstep::cuda_detail::check(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    ~device_stream() { cudaStreamDestroy(stream_); }
    device_stream(device_stream const&) = delete;
    device_stream& operator=(device_stream const&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};
