// SPDX-License-Identifier: Apache-2.0
/// Streams, graphs and device memory that clean up after themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace picture_fit {

inline void check(cudaError_t code, char const* call) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(call) + " failed: " + cudaGetErrorString(code));
}

/// Device memory for `T`, from the host's values or undefined. It does not move: others hold its address.
template <class T>
class device_array {
  public:
    explicit device_array(std::size_t size) : size_(size) {
        check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), "cudaMalloc");
    }
    explicit device_array(std::vector<T> const& values) : device_array(values.size()) {
        check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    device_array(device_array const&) = delete;
    device_array& operator=(device_array const&) = delete;
    ~device_array() { cudaFree(data_); }

    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// Waits for the stream.
    std::vector<T> read(cudaStream_t stream) const {
        std::vector<T> copy(size_);
        check(cudaMemcpyAsync(copy.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return copy;
    }

  private:
    T* data_ = nullptr;
    std::size_t size_;
};

/// In order with plain copies, which go to the default stream.
class stream {
  public:
    stream() { check(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;
    ~stream() { cudaStreamDestroy(stream_); }
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

/// What `work` launches on a stream, to be launched again as a whole.
class graph {
  public:
    template <class Work>
    graph(cudaStream_t stream, Work&& work) : stream_(stream) {
        cudaGraph_t captured = nullptr;
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        work();
        check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
        const cudaError_t code = cudaGraphInstantiate(&executable_, captured, 0);
        cudaGraphDestroy(captured);
        check(code, "cudaGraphInstantiate");
    }
    graph(graph const&) = delete;
    graph& operator=(graph const&) = delete;
    ~graph() { cudaGraphExecDestroy(executable_); }
    void launch() const { check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch"); }

  private:
    cudaStream_t stream_;
    cudaGraphExec_t executable_ = nullptr;
};

}  // namespace picture_fit
