// SPDX-License-Identifier: Apache-2.0
/// The products in plain CUDA: to read, and for where there are no tensor cores.
#pragma once

#include <cstddef>
#include <halfstep/halfstep.hpp>

#include "layer_kernels.cuh"
#include "products.hpp"

namespace picture_fit {

/// A thread an element of out = left · right. An element of `right` lies at row · row_stride + column · column_stride.
template <class T>
__global__ void product_kernel(T const* left, T const* right, float* out, int pixels, int inner, int columns,
                               int row_stride, int column_stride) {
    const std::int64_t i = element_of_thread();
    if (i >= static_cast<std::int64_t>(pixels) * columns) return;
    T const* a = left + i % pixels;
    T const* b = right + i / pixels * column_stride;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < inner; ++k, a += pixels, b += row_stride) sum = hs::fma(hs::widen(*a), hs::widen(*b), sum);
    out[i] = sum;
}

/// A block an element, which is a sum over all pixels.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    weight_gradient_kernel(T const* input, T const* gradient, int pixels, int inputs, T* out) {
    T const* a = input + static_cast<std::size_t>(blockIdx.x % inputs) * pixels;
    T const* b = gradient + static_cast<std::size_t>(blockIdx.x / inputs) * pixels;
    float sum = 0;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < pixels; i += threads_per_block)
        sum = hs::fma(hs::widen(a[i]), hs::widen(b[i]), sum);
    __shared__ typename block_sum<float>::TempStorage storage;
    const float total = block_sum<float>(storage).Sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = hs::narrow<T>(total);
}

template <class T>
class plain_products final : public products<T> {
  public:
    explicit plain_products(cudaStream_t stream) : stream_(stream) {}

    void forward(T const* input, T const* weight, float* out, int pixels, int inputs, int outputs) override {
        product_kernel<<<blocks_for(std::int64_t{pixels} * outputs), threads_per_block, 0, stream_>>>(
            input, weight, out, pixels, inputs, outputs, 1, inputs);
    }
    void input_gradient(T const* gradient, T const* weight, float* out, int pixels, int inputs, int outputs) override {
        product_kernel<<<blocks_for(std::int64_t{pixels} * inputs), threads_per_block, 0, stream_>>>(
            gradient, weight, out, pixels, outputs, inputs, inputs, 1);
    }
    void weight_gradient(T const* input, T const* gradient, T* out, int pixels, int inputs, int outputs) override {
        weight_gradient_kernel<<<static_cast<unsigned>(inputs * outputs), threads_per_block, 0, stream_>>>(
            input, gradient, pixels, inputs, out);
    }

  private:
    cudaStream_t stream_;
};

}  // namespace picture_fit
