// SPDX-License-Identifier: Apache-2.0
/// The instructions of AVX2, FMA and F16C that lanes are made of.
///
/// <immintrin.h> costs g++ 12 half a second a file, as much as everything else in halfstep.hpp. So there they are the
/// builtins that it is made of (GCC manual, "x86 Built-in Functions"), elsewhere the intrinsics.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/host/instruction_set.hpp>

#if defined(HS_LANES_AVX2)

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && !defined(__NVCOMPILER)
#include <emmintrin.h>
#define HS_GCC_BUILTINS 1
#else
#include <immintrin.h>
#endif

namespace halfstep::host::inline avx2::instructions {

typedef float floats __attribute__((vector_size(32)));
typedef std::int32_t words __attribute__((vector_size(32)));
typedef long long quads __attribute__((vector_size(32)));
typedef short halves __attribute__((vector_size(16)));
typedef char bytes __attribute__((vector_size(16)));

#if defined(HS_GCC_BUILTINS)
#define HS_AVX2(builtin, intrinsic) builtin
#else
#define HS_AVX2(builtin, intrinsic) intrinsic
#endif

HS_HOST_INLINE floats fma(floats a, floats b, floats c) {
    return HS_AVX2(__builtin_ia32_vfmaddps256(a, b, c), _mm256_fmadd_ps(a, b, c));
}
HS_HOST_INLINE floats sqrt(floats a) { return HS_AVX2(__builtin_ia32_sqrtps256(a), _mm256_sqrt_ps(a)); }
HS_HOST_INLINE floats min(floats a, floats b) { return HS_AVX2(__builtin_ia32_minps256(a, b), _mm256_min_ps(a, b)); }
HS_HOST_INLINE floats max(floats a, floats b) { return HS_AVX2(__builtin_ia32_maxps256(a, b), _mm256_max_ps(a, b)); }
/// The sign of lane i is bit i.
HS_HOST_INLINE int signs(floats a) { return HS_AVX2(__builtin_ia32_movmskps256(a), _mm256_movemask_ps(a)); }

HS_HOST_INLINE words extend(halves a) {
    return HS_AVX2(__builtin_ia32_pmovzxwd256(a), (words)_mm256_cvtepu16_epi32((__m128i)a));
}
/// Of the lower eight bytes.
HS_HOST_INLINE words extend(bytes a) {
    return HS_AVX2(__builtin_ia32_pmovzxbd256(a), (words)_mm256_cvtepu8_epi32((__m128i)a));
}
/// Words below 2^16.
HS_HOST_INLINE halves pack(words a) {
    const quads pairs = (quads)HS_AVX2(__builtin_ia32_packusdw256(a, a), _mm256_packus_epi32((__m256i)a, (__m256i)a));
    const quads low =
        HS_AVX2(__builtin_ia32_permdi256(pairs, 0x08), (quads)_mm256_permute4x64_epi64((__m256i)pairs, 0x08));
    return (halves)HS_AVX2(__builtin_ia32_si_si256((words)low), _mm256_castsi256_si128((__m256i)low));
}
HS_HOST_INLINE floats widen(halves a) { return HS_AVX2(__builtin_ia32_vcvtph2ps256(a), _mm256_cvtph_ps((__m128i)a)); }
/// To nearest, ties to even, without exceptions.
HS_HOST_INLINE halves narrow(floats a) {
    return HS_AVX2(__builtin_ia32_vcvtps2ph256(a, 8),
                   (halves)_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// The lanes whose sign is set in `mask`; the others are zero, and nothing is read there.
HS_HOST_INLINE floats load(float const* from, words mask) {
    return HS_AVX2(__builtin_ia32_maskloadps256((floats const*)from, mask), _mm256_maskload_ps(from, (__m256i)mask));
}
HS_HOST_INLINE void store(float* to, words mask, floats a) {
    HS_AVX2(__builtin_ia32_maskstoreps256((floats*)to, mask, a), _mm256_maskstore_ps(to, (__m256i)mask, a));
}

#undef HS_AVX2
#undef HS_GCC_BUILTINS

}  // namespace halfstep::host::inline avx2::instructions

#endif
