// SPDX-License-Identifier: Apache-2.0
/// The few vector operations that the hand-written kernels need: AVX-512, or AVX2 with FMA and F16C.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace hand {

using u16 = std::uint16_t;

#if defined(__AVX512F__) && defined(__AVX512VL__)

inline constexpr int width = 16;
using vec = __m512;
using half_vec = __m256i;
inline vec all(float x) { return _mm512_set1_ps(x); }
inline vec load(float const* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, vec x) { _mm512_storeu_ps(p, x); }
inline half_vec load_bits(u16 const* p) { return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)); }
inline void store_bits(u16* p, half_vec x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
inline void stream_bits(u16* p, half_vec x) { _mm256_stream_si256(reinterpret_cast<__m256i*>(p), x); }
inline vec widen(half_vec x) { return _mm512_cvtph_ps(x); }
inline half_vec narrow(vec x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline vec mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
inline vec fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
inline vec div(vec a, vec b) { return _mm512_div_ps(a, b); }
inline vec root(vec a) { return _mm512_sqrt_ps(a); }
inline float sum(vec a) { return _mm512_reduce_add_ps(a); }
inline vec mix_bits(vec a, int bits) {
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_set1_epi32(bits)));
}

#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

inline constexpr int width = 8;
using vec = __m256;
using half_vec = __m128i;
inline vec all(float x) { return _mm256_set1_ps(x); }
inline vec load(float const* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, vec x) { _mm256_storeu_ps(p, x); }
inline half_vec load_bits(u16 const* p) { return _mm_loadu_si128(reinterpret_cast<__m128i const*>(p)); }
inline void store_bits(u16* p, half_vec x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }
inline void stream_bits(u16* p, half_vec x) { _mm_stream_si128(reinterpret_cast<__m128i*>(p), x); }
inline vec widen(half_vec x) { return _mm256_cvtph_ps(x); }
inline half_vec narrow(vec x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline vec mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
inline vec fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
inline vec div(vec a, vec b) { return _mm256_div_ps(a, b); }
inline vec root(vec a) { return _mm256_sqrt_ps(a); }
inline float sum(vec a) {
    float lane[8], total = 0;
    store(lane, a);
    for (float x : lane) total += x;
    return total;
}
inline vec mix_bits(vec a, int bits) {
    return _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(a), _mm256_set1_epi32(bits)));
}

#else
#error "the hand-written kernels need AVX-512 or AVX2 with FMA and F16C"
#endif

/// The first `n` elements, and zeros.
inline half_vec load_bits(u16 const* p, std::int64_t n) {
    u16 some[width] = {};
    std::memcpy(some, p, static_cast<std::size_t>(n) * sizeof(u16));
    return load_bits(some);
}
inline void store_bits(u16* p, half_vec x, std::int64_t n) {
    u16 some[width];
    store_bits(some, x);
    std::memcpy(p, some, static_cast<std::size_t>(n) * sizeof(u16));
}

/// Asks for the 32 elements that lie `bytes` behind `p`.
template <class T>
inline void prefetch(T const* p, std::uintptr_t bytes) {
    for (std::uintptr_t line = 0; line < 32 * sizeof(T); line += 64)
        _mm_prefetch(reinterpret_cast<char const*>(reinterpret_cast<std::uintptr_t>(p) + bytes + line), _MM_HINT_T0);
}

}  // namespace hand
