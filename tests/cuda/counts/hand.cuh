// SPDX-License-Identifier: Apache-2.0
/// Kernels written by hand, one recipe each, for one tensor of any size: the yardstick of tests/cuda_counts.sh.
///
/// They compute what the composed kernels compute: the same formulas, moments below 2^-126 stored as zero, scale and
/// decision on the device. A block takes 4,096 elements, a thread 16 bytes of fp32 at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace hand {

inline constexpr int block_elements = 4096;

/// What the step's first kernel decided.
struct decision {
    float factor, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, decay, minus_step_size, correction, lr, undamped;
    int apply;
    std::uint32_t noise_before, noise_between;
};

/// One tensor and its state; what a recipe does not have is null.
struct arrays {
    void const* gradient;
    void* parameter;
    float* master;
    float* m;
    float* v;
    void* compensation;
    std::int64_t n;
};

__device__ __forceinline__ float without_subnormals(float x) { return fabsf(x) < 0x1p-126f ? 0.0f : x; }

__device__ __forceinline__ float from(__half x) { return __half2float(x); }
__device__ __forceinline__ float from(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float from(float x) { return x; }

__device__ __forceinline__ bool nonfinite(__half x) { return (__half_as_ushort(x) & 0x7C00) == 0x7C00; }
__device__ __forceinline__ bool nonfinite(__nv_bfloat16 x) { return (__bfloat16_as_ushort(x) & 0x7F80) == 0x7F80; }
__device__ __forceinline__ bool nonfinite(float x) { return (__float_as_uint(x) & 0x7F800000u) == 0x7F800000u; }

template <class T>
struct alignas(4 * sizeof(T)) four {
    T x[4];
};

/// The first moment, the second, and Adam's quotient.
__device__ __forceinline__ float adam_quotient(decision const& s, float g, float& m, float& v) {
    const float m1 = fmaf(s.beta1, m, s.one_minus_beta1 * g), v1 = fmaf(s.beta2, v, s.one_minus_beta2 * g * g);
    m = without_subnormals(m1);
    v = without_subnormals(v1);
    return m1 / fmaf(__fsqrt_rn(v1), s.correction, s.eps);
}

struct adamw_master {
    __device__ static void update(decision const& s, std::uint32_t, float g, __half& p, float& master, float& m,
                                  float& v, __half&) {
        master = fmaf(s.minus_step_size, adam_quotient(s, g * s.factor, m, v), master * s.decay);
        p = __float2half_rn(master);
    }
};
struct adamw_stochastic {
    __device__ static void update(decision const& s, std::uint32_t index, float g, __nv_bfloat16& p, float&, float& m,
                                  float& v, __nv_bfloat16&) {
        const float next = fmaf(s.minus_step_size, adam_quotient(s, g * s.factor, m, v), __bfloat162float(p) * s.decay);
        std::uint32_t x = index ^ s.noise_before;
        x = (x ^ (x >> 16)) * 0x7FEB352Du ^ s.noise_between;
        x = (x ^ (x >> 15)) * 0x846CA68Bu;
        x ^= x >> 16;
        const std::uint32_t bits = __float_as_uint(next), size = bits & 0x7FFFFFFFu;
        std::uint32_t raised = (size + (x >> 16)) >> 16;
        raised = raised > 0x7F7F ? 0x7F7F : raised;
        const auto result = static_cast<std::uint16_t>((bits & 0x80000000u) >> 16 | raised);
        p = size >= 0x7F800000u ? __float2bfloat16_rn(next) : __ushort_as_bfloat16(result);
    }
};
struct momentum {
    __device__ static void update(decision const& s, std::uint32_t, float g, float& p, float&, float& m, float&,
                                  float&) {
        const float decayed = fmaf(s.decay, p, g * s.factor), next = fmaf(s.beta1, m, s.undamped * decayed);
        m = without_subnormals(next);
        p = fmaf(-s.lr, next, p);
    }
};
struct lion_master {
    __device__ static void update(decision const& s, std::uint32_t, float g, __nv_bfloat16& p, float& master, float& m,
                                  float&, __nv_bfloat16&) {
        const float scaled = g * s.factor, c = fmaf(s.beta1, m, s.one_minus_beta1 * scaled);
        const float step = c > 0 ? -s.lr : c < 0 ? s.lr : c;
        master = fmaf(master, s.decay, step);
        m = without_subnormals(fmaf(s.beta2, m, s.one_minus_beta2 * scaled));
        p = __float2bfloat16_rn(master);
    }
};
struct adam_kahan {
    __device__ static void update(decision const& s, std::uint32_t, float g, __half& p, float&, float& m, float& v,
                                  __half& rest) {
        const float value = __half2float(p) + __half2float(rest), scaled = g * s.factor;
        const float clipped = scaled > s.lr ? s.lr : scaled < -s.lr ? -s.lr : scaled;
        const float next = fmaf(s.minus_step_size, adam_quotient(s, fmaf(s.decay, value, clipped), m, v), value);
        p = __float2half_rn(next);
        rest = __float2half_rn(next - __half2float(p));
    }
};

/// Elements [i, i + 4) of a block; `Master`, `Moments` and `Compensates` say which arrays there are.
template <class Rule, class T, bool Master, int Moments, bool Compensates>
__global__ void __launch_bounds__(512) update(arrays a, decision const* decided) {
    if (!decided->apply) return;
    const decision s = *decided;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block_elements;
    const int n = a.n - first < block_elements ? static_cast<int>(a.n - first) : block_elements;
    T const* const gradient = static_cast<T const*>(a.gradient) + first;
    T* const parameter = static_cast<T*>(a.parameter) + first;
    T* const compensation = Compensates ? static_cast<T*>(a.compensation) + first : nullptr;
    float* const master = Master ? a.master + first : nullptr;
    float* const m = a.m + first;
    float* const v = Moments == 2 ? a.v + first : nullptr;
    const auto number = static_cast<std::uint32_t>(first);
    for (int i = 4 * static_cast<int>(threadIdx.x); i < n; i += 4 * static_cast<int>(blockDim.x)) {
        if (i + 4 <= n) {
            const four<T> g = *reinterpret_cast<four<T> const*>(gradient + i);
            four<T> p, rest;
            four<float> w, first_moment = *reinterpret_cast<four<float>*>(m + i), second_moment;
            if constexpr (Master)
                w = *reinterpret_cast<four<float>*>(master + i);
            else
                p = *reinterpret_cast<four<T>*>(parameter + i);
            if constexpr (Moments == 2) second_moment = *reinterpret_cast<four<float>*>(v + i);
            if constexpr (Compensates) rest = *reinterpret_cast<four<T>*>(compensation + i);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                Rule::update(s, number + static_cast<std::uint32_t>(i + j), from(g.x[j]), p.x[j], w.x[j],
                             first_moment.x[j], second_moment.x[j], rest.x[j]);
            *reinterpret_cast<four<T>*>(parameter + i) = p;
            *reinterpret_cast<four<float>*>(m + i) = first_moment;
            if constexpr (Master) *reinterpret_cast<four<float>*>(master + i) = w;
            if constexpr (Moments == 2) *reinterpret_cast<four<float>*>(v + i) = second_moment;
            if constexpr (Compensates) *reinterpret_cast<four<T>*>(compensation + i) = rest;
        } else {
            for (int j = i; j < n; ++j) {
                float w = 0, second = 0;
                T rest{};
                if constexpr (Master) w = master[j];
                if constexpr (Moments == 2) second = v[j];
                if constexpr (Compensates) rest = compensation[j];
                Rule::update(s, number + static_cast<std::uint32_t>(j), from(gradient[j]), parameter[j], w, m[j],
                             second, rest);
                if constexpr (Master) master[j] = w;
                if constexpr (Moments == 2) v[j] = second;
                if constexpr (Compensates) compensation[j] = rest;
            }
        }
    }
}

/// Checks, or takes the norm of, 4,096 elements a quarter of a warp, into a partial result each.
template <class T, bool Norm>
__global__ void __launch_bounds__(256) inspect(T const* gradient, std::int64_t n, float* sums, unsigned* flags) {
    constexpr int width = 16 / sizeof(T), quarter = 8;
    const std::int64_t segment = static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x / quarter;
    const std::int64_t first = segment * block_elements;
    const int size = n - first < block_elements ? static_cast<int>(n > first ? n - first : 0) : block_elements;
    const int lane = static_cast<int>(threadIdx.x) % quarter;
    float sum[width] = {};
    bool bad = false;
    const auto add = [&](int j, T x) {
        if constexpr (Norm)
            sum[j] = fmaf(from(x), from(x), sum[j]);
        else
            bad = bad || nonfinite(x);
    };
    const int whole = size / (quarter * width) * (quarter * width);
#pragma unroll 4
    for (int i = lane * width; i < whole; i += quarter * width) {
        struct alignas(16) pack {
            T x[width];
        } x = *reinterpret_cast<pack const*>(gradient + first + i);
#pragma unroll
        for (int j = 0; j < width; ++j) add(j, x.x[j]);
    }
    for (int i = whole + lane; i < size; i += quarter) add((i - whole) / quarter % width, gradient[first + i]);
    if constexpr (Norm) {
        float total = 0;
        for (int j = 0; j < width; ++j) total += sum[j];
        for (int distance = 1; distance < quarter; distance *= 2)
            total += __shfl_xor_sync(0xFFFFFFFFu, total, distance);
        if (lane == 0 && size > 0) sums[segment] = total;
    } else {
        const unsigned mask = 0xFFu << (threadIdx.x % 32 / quarter * quarter);
        const bool any = (__ballot_sync(0xFFFFFFFFu, bad) & mask) != 0;
        if (lane == 0 && size > 0) flags[segment] = any;
    }
}

/// Folds the partial results and decides, in a launch of one block. `numbers` holds everything but factor, apply.
template <bool Norm>
__global__ void __launch_bounds__(256)
    decide(float const* sums, unsigned const* flags, int segments, decision numbers, float scale, decision* decided) {
    __shared__ double sum[256];
    __shared__ int bad;
    if (threadIdx.x == 0) bad = 0;
    double own = 0;
    bool flagged = false;
    for (int i = threadIdx.x; i < segments; i += 256) {
        if constexpr (Norm)
            own += sums[i];
        else
            flagged = flagged || flags[i] != 0;
    }
    sum[threadIdx.x] = own;
    __syncthreads();
    if (flagged) bad = 1;
    for (int distance = 128; Norm && distance > 0; distance /= 2) {
        if (static_cast<int>(threadIdx.x) < distance) sum[threadIdx.x] += sum[threadIdx.x + distance];
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    numbers.apply = bad == 0;
    numbers.factor = 1 / scale;
    if constexpr (Norm) {
        const double norm = __dsqrt_rn(sum[0]) / scale, clip = 1 / (norm + 1e-6);
        numbers.apply = isfinite(norm);
        numbers.factor = static_cast<float>((clip < 1 ? clip : 1) / scale);
    }
    *decided = numbers;
}

}  // namespace hand
