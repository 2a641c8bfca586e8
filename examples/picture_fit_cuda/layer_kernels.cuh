// SPDX-License-Identifier: Apache-2.0
/// What stands between the matrix products: bias, ReLU, loss, and each rounding to the storage type. Matrices have a
/// row a pixel, column by column; sums are blocks' trees in a fixed order.
#pragma once

#include <cstddef>
#include <cub/block/block_reduce.cuh>
#include <halfstep/halfstep.hpp>

#include "../picture_fit/picture.hpp"
#include "launch.cuh"

namespace picture_fit {

namespace hs = halfstep;

template <class Value>
using block_sum = cub::BlockReduce<Value, threads_per_block, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;

/// The next layer's input from a product: bias, ReLU, one rounding.
template <class T>
__global__ void activate_kernel(float const* product, T const* bias, int pixels, int columns, T* out) {
    const std::int64_t i = element_of_thread();
    if (i >= static_cast<std::int64_t>(pixels) * columns) return;
    const float value = product[i] + hs::widen(bias[i / pixels]);
    out[i] = hs::narrow<T>(value > 0 ? value : 0);
}

/// The gradient of a layer's input, rounded. With `input`, that of the product before its ReLU.
template <class T>
__global__ void round_gradient_kernel(float const* product, T const* input, std::int64_t size, T* gradient) {
    const std::int64_t i = element_of_thread();
    if (i >= size) return;
    const bool passes = input == nullptr || hs::widen(input[i]) > 0;
    gradient[i] = hs::narrow<T>(passes ? product[i] : 0);
}

/// The colours as they are stored; the squared errors, a sum a block; and the gradient of the mean squared error times
/// the loss scale, which is multiplied in before the first rounding.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    output_gradient_kernel(float const* product, T const* bias, float const* target, int pixels,
                           float const* loss_scale, T* output, T* gradient, float* squares) {
    const std::int64_t pixel = element_of_thread();
    float sum = 0;
    if (pixel < pixels)
        for (int c = 0; c < channels; ++c) {
            const std::size_t i = static_cast<std::size_t>(c) * pixels + pixel;
            output[i] = hs::narrow<T>(product[i] + hs::widen(bias[c]));
            const float error = hs::widen(output[i]) - target[i];
            sum += error * error;
            gradient[i] = hs::narrow<T>(error * (2.0f * *loss_scale / static_cast<float>(channels * pixels)));
        }
    __shared__ typename block_sum<float>::TempStorage storage;
    const float total = block_sum<float>(storage).Sum(sum);
    if (threadIdx.x == 0) squares[blockIdx.x] = total;
}

/// One block: the mean squared error.
static __global__ void __launch_bounds__(threads_per_block)
    sum_loss_kernel(float const* squares, int count, int values, float* loss) {
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += threads_per_block)
        sum += static_cast<double>(squares[i]);
    __shared__ typename block_sum<double>::TempStorage storage;
    const double total = block_sum<double>(storage).Sum(sum);
    if (threadIdx.x == 0) *loss = static_cast<float>(total / values);
}

/// A block a column: the gradient of a bias.
template <class T>
__global__ void __launch_bounds__(threads_per_block) bias_gradient_kernel(T const* gradient, int pixels, T* out) {
    T const* column = gradient + static_cast<std::size_t>(blockIdx.x) * pixels;
    float sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < pixels; i += threads_per_block) sum += hs::widen(column[i]);
    __shared__ typename block_sum<float>::TempStorage storage;
    const float total = block_sum<float>(storage).Sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = hs::narrow<T>(total);
}

}  // namespace picture_fit
