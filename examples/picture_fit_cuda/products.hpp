// SPDX-License-Identifier: Apache-2.0
/// The three matrix products of a layer: inputs in the storage type, sums in fp32.
#pragma once

#include <cuda_runtime_api.h>

namespace picture_fit {

/// Matrices are column by column; activations have a row a pixel, a weight has a row an input.
template <class T>
class products {
  public:
    products() = default;
    products(products const&) = delete;
    products& operator=(products const&) = delete;
    virtual ~products() = default;
    /// out (pixels × outputs) = input · weight
    virtual void forward(T const* input, T const* weight, float* out, int pixels, int inputs, int outputs) = 0;
    /// out (pixels × inputs) = gradient · weightᵀ
    virtual void input_gradient(T const* gradient, T const* weight, float* out, int pixels, int inputs,
                                int outputs) = 0;
    /// out (inputs × outputs) = inputᵀ · gradient, rounded once
    virtual void weight_gradient(T const* input, T const* gradient, T* out, int pixels, int inputs, int outputs) = 0;
};

}  // namespace picture_fit
