// SPDX-License-Identifier: Apache-2.0
/// The products by cuBLAS: tensor cores for 16-bit inputs, sums in fp32.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <halfstep/halfstep.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "cuda_resources.hpp"
#include "products.hpp"

namespace picture_fit {

template <class T>
class cublas_products final : public products<T> {
  public:
    /// With a workspace of its own, so that the products may be captured in a graph.
    explicit cublas_products(cudaStream_t stream) : workspace_(std::size_t{32} << 20) {
        succeeded(cublasCreate(&handle_), "cublasCreate");
        succeeded(cublasSetStream(handle_, stream), "cublasSetStream");
        succeeded(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size()), "cublasSetWorkspace");
    }
    ~cublas_products() override { cublasDestroy(handle_); }

    void forward(T const* input, T const* weight, float* out, int pixels, int inputs, int outputs) override {
        product(CUBLAS_OP_N, CUBLAS_OP_N, pixels, outputs, inputs, input, pixels, weight, inputs, out, pixels);
    }
    void input_gradient(T const* gradient, T const* weight, float* out, int pixels, int inputs, int outputs) override {
        product(CUBLAS_OP_N, CUBLAS_OP_T, pixels, inputs, outputs, gradient, pixels, weight, inputs, out, pixels);
    }
    void weight_gradient(T const* input, T const* gradient, T* out, int pixels, int inputs, int outputs) override {
        product(CUBLAS_OP_T, CUBLAS_OP_N, inputs, outputs, pixels, input, pixels, gradient, pixels, out, inputs);
    }

  private:
    static void succeeded(cublasStatus_t status, char const* call) {
        if (status != CUBLAS_STATUS_SUCCESS)
            throw std::runtime_error(std::string(call) + " failed: " + cublasGetStatusString(status));
    }
    template <class X>
    static constexpr cudaDataType_t type = std::is_same_v<X, float>            ? CUDA_R_32F
                                           : std::is_same_v<X, halfstep::fp16> ? CUDA_R_16F
                                                                               : CUDA_R_16BF;
    /// c (m × n) = a · b, the inner dimension k.
    template <class C>
    void product(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, T const* a, int stride_a,
                 T const* b, int stride_b, C* c, int stride_c) {
        const float one = 1, zero = 0;
        succeeded(cublasGemmEx(handle_, op_a, op_b, m, n, k, &one, a, type<T>, stride_a, b, type<T>, stride_b, &zero, c,
                               type<C>, stride_c, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                  "cublasGemmEx");
    }

    device_array<std::byte> workspace_;
    cublasHandle_t handle_ = nullptr;
};

}  // namespace picture_fit
