// SPDX-License-Identifier: Apache-2.0
/// Steps written by hand in AVX2 intrinsics, one recipe each, as one would write them without a library: the yardstick.
///
/// They compute what the composed steps compute (the same formulas, moments below 2^-126 stored as zero), for sizes
/// that are multiples of 64. Four vectors an iteration in the update, a row of 64 in the check, as the composed loops
/// do.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>

namespace hand {

using u16 = std::uint16_t;

/// Numbers that a compiler must not know, as in the composed step.
struct settings {
    float factor = 1, weight_decay = 0, undamped = 1, bound = 1;
};
inline settings volatile_settings(float factor, float weight_decay) {
    float volatile f = factor, w = weight_decay, one = 1;
    return {f, w, one, one};
}

struct arrays {
    u16 const* gradient16;
    float const* gradient32;
    u16* parameter16;
    float* parameter32;
    float* master;
    float* m;
    float* v;
    u16* compensation;
    std::int64_t n;
};

inline __m256 all(float x) { return _mm256_set1_ps(x); }
inline __m256 load_fp16(u16 const* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))); }
inline void store_fp16(u16* p, __m256 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline __m256 load_bf16(u16 const* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))), 16));
}
inline __m128i pack16(__m256i x) {
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(x, x), 0x08));
}
inline __m256 magnitude(__m256 x) { return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF))); }
inline __m256 without_subnormals(__m256 x) {
    return _mm256_andnot_ps(_mm256_cmp_ps(magnitude(x), all(0x1p-126f), _CMP_LT_OS), x);
}

struct adam_scalars {
    float b1, c1, b2, c2, eps, decay, minus_step, correction;
};
inline adam_scalars make_adam(float lr, float weight_decay, int t) {
    return {0.9f,
            0.1f,
            0.999f,
            0.001f,
            1e-8f,
            1 - lr * weight_decay,
            static_cast<float>(-lr / (1 - std::pow(0.9, t))),
            static_cast<float>(1 / std::sqrt(1 - std::pow(0.999, t)))};
}
/// Moments and the quotient of Adam.
inline __m256 adam_quotient(adam_scalars const s, __m256 g, float* m, float* v) {
    const __m256 m1 = _mm256_fmadd_ps(all(s.b1), _mm256_loadu_ps(m), _mm256_mul_ps(all(s.c1), g));
    const __m256 v1 = _mm256_fmadd_ps(all(s.b2), _mm256_loadu_ps(v), _mm256_mul_ps(_mm256_mul_ps(all(s.c2), g), g));
    _mm256_storeu_ps(m, without_subnormals(m1));
    _mm256_storeu_ps(v, without_subnormals(v1));
    return _mm256_div_ps(m1, _mm256_fmadd_ps(_mm256_sqrt_ps(v1), all(s.correction), all(s.eps)));
}

inline float sum(__m256 const (&chain)[8]) {
    float lane[64], total = 0;
    for (int i = 0; i < 8; ++i) _mm256_storeu_ps(lane + 8 * i, chain[i]);
    for (float x : lane) total += x;
    return total;
}
inline __m256 nonfinite(__m256 x) {
    const __m256i exponent = _mm256_set1_epi32(0x7F800000);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_castps_si256(x), exponent), exponent));
}
/// The sum of squares, a segment of 4,096 at a time.
inline double norm_squared(arrays const a) {
    double total = 0;
    for (std::int64_t i = 0; i < a.n;) {
        __m256 chain[8];
        for (auto& c : chain) c = _mm256_setzero_ps();
        const std::int64_t end = i + 4096 < a.n ? i + 4096 : a.n;
        for (; i < end; i += 64) {
            _mm_prefetch(reinterpret_cast<char const*>(a.gradient16 + i + 4096), _MM_HINT_T0);
            _mm_prefetch(reinterpret_cast<char const*>(a.gradient16 + i + 4096) + 64, _MM_HINT_T0);
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                const __m256 x = load_fp16(a.gradient16 + i + 8 * j);
                chain[j] = _mm256_fmadd_ps(x, x, chain[j]);
            }
        }
        total += static_cast<double>(sum(chain));
    }
    return total;
}
template <class Load>
bool any_nonfinite(arrays const a, Load load, bool prefetch) {
    __m256 seen = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < a.n; i += 64) {
        if (prefetch) {
            _mm_prefetch(reinterpret_cast<char const*>(a.gradient16 + i + 4096), _MM_HINT_T0);
            _mm_prefetch(reinterpret_cast<char const*>(a.gradient16 + i + 4096) + 64, _MM_HINT_T0);
        }
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) seen = _mm256_or_ps(seen, nonfinite(load(a.gradient16 + i + 8 * j)));
    }
    return _mm256_movemask_ps(seen) != 0;
}

inline void update_fp16_master(arrays const a, adam_scalars const& s, float factor) {
    for (std::int64_t i = 0; i < a.n; i += 32)
#pragma GCC unroll 4
        for (int u = 0; u < 32; u += 8) {
            const __m256 g = _mm256_mul_ps(load_fp16(a.gradient16 + i + u), all(factor));
            const __m256 q = adam_quotient(s, g, a.m + i + u, a.v + i + u);
            const __m256 p =
                _mm256_fmadd_ps(all(s.minus_step), q, _mm256_mul_ps(_mm256_loadu_ps(a.master + i + u), all(s.decay)));
            _mm256_storeu_ps(a.master + i + u, p);
            store_fp16(a.parameter16 + i + u, p);
        }
}

/// fp16, norm check and norm clipping, AdamW, fp32 master.
inline bool fp16_adamw_clip(arrays const a, float lr, int t) {
    const double norm = std::sqrt(norm_squared(a)) / 65536;
    if (!std::isfinite(norm)) return false;
    const double clip = 1 / (norm + 1e-6);
    update_fp16_master(a, make_adam(lr, 0.01f, t), static_cast<float>((clip < 1 ? clip : 1) / 65536));
    return true;
}
/// fp16, check of every element, AdamW, fp32 master.
inline bool fp16_adamw(arrays const a, float lr, int t) {
    if (any_nonfinite(a, load_fp16, true)) return false;
    update_fp16_master(a, make_adam(lr, 0.01f, t), 1.0f / 65536);
    return true;
}
/// bf16, check of every element, AdamW, stochastic rounding.
inline bool bf16_stochastic(arrays const a, float lr, int t) {
    if (any_nonfinite(a, load_bf16, true)) return false;
    const adam_scalars s = make_adam(lr, 0.01f, t);
    const settings r = volatile_settings(1, 0);
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i before = _mm256_set1_epi32(t * 77), between = _mm256_set1_epi32(t * 1234567);
    for (std::int64_t i = 0; i < a.n; i += 32)
#pragma GCC unroll 4
        for (int u = 0; u < 32; u += 8) {
            const __m256 g = load_bf16(a.gradient16 + i + u);
            const __m256 q = adam_quotient(s, _mm256_mul_ps(g, all(r.factor)), a.m + i + u, a.v + i + u);
            const __m256 p =
                _mm256_fmadd_ps(all(s.minus_step), q, _mm256_mul_ps(load_bf16(a.parameter16 + i + u), all(s.decay)));
            __m256i x = _mm256_xor_si256(_mm256_add_epi32(number, _mm256_set1_epi32(static_cast<int>(i) + u)), before);
            x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 16)), _mm256_set1_epi32(0x7FEB352D));
            x = _mm256_xor_si256(x, between);
            x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 15)),
                                   _mm256_set1_epi32(static_cast<int>(0x846CA68Bu)));
            x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
            const __m256i bits = _mm256_castps_si256(p), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
            const __m256i sign =
                _mm256_srli_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0x80000000u))), 16);
            __m256i raised = _mm256_srli_epi32(_mm256_add_epi32(size, _mm256_srli_epi32(x, 16)), 16);
            const __m256i largest = _mm256_set1_epi32(0x7F7F),
                          special = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7F800000), size);
            raised = _mm256_min_epi32(_mm256_blendv_epi8(largest, raised, special), largest);
            const __m256i nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7F800000));
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
            const __m256i nearest =
                _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
            const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
            const __m256i otherwise = _mm256_blendv_epi8(nearest, quiet, nan);
            const __m256i result = _mm256_blendv_epi8(otherwise, _mm256_or_si256(sign, raised), special);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(a.parameter16 + i + u), pack16(result));
        }
    return true;
}
/// float, no check, SGD with momentum, in place.
inline bool float_momentum(arrays const a, float lr, int t) {
    const settings r = volatile_settings(1, 1e-4f);
    const float undamped = t == 1 ? 1.0f : r.undamped;
    for (std::int64_t i = 0; i < a.n; i += 32)
#pragma GCC unroll 4
        for (int u = 0; u < 32; u += 8) {
            const __m256 p = _mm256_loadu_ps(a.parameter32 + i + u);
            const __m256 g = _mm256_fmadd_ps(all(r.weight_decay), p,
                                             _mm256_mul_ps(_mm256_loadu_ps(a.gradient32 + i + u), all(r.factor)));
            const __m256 m = _mm256_fmadd_ps(all(0.9f), _mm256_loadu_ps(a.m + i + u), _mm256_mul_ps(all(undamped), g));
            _mm256_storeu_ps(a.m + i + u, without_subnormals(m));
            _mm256_storeu_ps(a.parameter32 + i + u, _mm256_fmadd_ps(all(-lr), m, p));
        }
    return true;
}
/// bf16, check of every element, Lion, fp32 master.
inline bool bf16_lion(arrays const a, float lr, int) {
    if (any_nonfinite(a, load_bf16, true)) return false;
    const __m256 zero = _mm256_setzero_ps();
    const settings r = volatile_settings(1, 0);
    for (std::int64_t i = 0; i < a.n; i += 32)
#pragma GCC unroll 4
        for (int u = 0; u < 32; u += 8) {
            const __m256 g = _mm256_mul_ps(load_bf16(a.gradient16 + i + u), all(r.factor));
            const __m256 m = _mm256_loadu_ps(a.m + i + u);
            const __m256 c = _mm256_fmadd_ps(all(0.9f), m, _mm256_mul_ps(all(0.1f), g));
            __m256 step = _mm256_blendv_ps(c, all(lr), _mm256_cmp_ps(c, zero, _CMP_LT_OS));
            step = _mm256_blendv_ps(step, all(-lr), _mm256_cmp_ps(c, zero, _CMP_GT_OS));
            const __m256 p = _mm256_fmadd_ps(_mm256_loadu_ps(a.master + i + u), all(1 - lr * 0.1f), step);
            _mm256_storeu_ps(a.m + i + u,
                             without_subnormals(_mm256_fmadd_ps(all(0.99f), m, _mm256_mul_ps(all(0.01f), g))));
            _mm256_storeu_ps(a.master + i + u, p);
            const __m256i bits = _mm256_castps_si256(p), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
            const __m256i nearest =
                _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
            const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
            const __m256i result =
                _mm256_blendv_epi8(nearest, quiet, _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7F800000)));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(a.parameter16 + i + u), pack16(result));
        }
    return true;
}
/// fp16, check of every element, clipping by value, Adam, Kahan compensation.
inline bool fp16_kahan(arrays const a, float lr, int t) {
    if (any_nonfinite(a, load_fp16, true)) return false;
    const adam_scalars s = make_adam(lr, 0, t);
    const settings r = volatile_settings(1.0f / 65536, 0);
    for (std::int64_t i = 0; i < a.n; i += 32)
#pragma GCC unroll 4
        for (int u = 0; u < 32; u += 8) {
            __m256 g = _mm256_mul_ps(load_fp16(a.gradient16 + i + u), all(r.factor));
            g = _mm256_max_ps(all(-r.bound), _mm256_min_ps(all(r.bound), g));
            const __m256 p = _mm256_add_ps(load_fp16(a.parameter16 + i + u), load_fp16(a.compensation + i + u));
            const __m256 q = adam_quotient(s, _mm256_fmadd_ps(all(r.weight_decay), p, g), a.m + i + u, a.v + i + u);
            const __m256 next = _mm256_fmadd_ps(all(s.minus_step), q, p);
            const __m128i rounded = _mm256_cvtps_ph(next, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(a.parameter16 + i + u), rounded);
            store_fp16(a.compensation + i + u, _mm256_sub_ps(next, _mm256_cvtph_ps(rounded)));
        }
    return true;
}

}  // namespace hand
