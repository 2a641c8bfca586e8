// SPDX-License-Identifier: Apache-2.0
/// The sum of 64 chains in the one order that every backend keeps: neighbours first.
#pragma once

#include <halfstep/core/layout.hpp>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace halfstep::host {

#if defined(__SSE2__)
/// Four vectors of four: element i of the result is the pairwise sum of vector i.
inline __m128 sum_quads(__m128 a, __m128 b, __m128 c, __m128 d) {
    const __m128 ab = _mm_add_ps(_mm_shuffle_ps(a, b, 0x88), _mm_shuffle_ps(a, b, 0xDD));
    const __m128 cd = _mm_add_ps(_mm_shuffle_ps(c, d, 0x88), _mm_shuffle_ps(c, d, 0xDD));
    return _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xDD));
}
inline float sum_chains_in_order(float const* chains) {
    const auto sixteen = [](float const* x) {
        return sum_quads(_mm_loadu_ps(x), _mm_loadu_ps(x + 4), _mm_loadu_ps(x + 8), _mm_loadu_ps(x + 12));
    };
    const __m128 four = sum_quads(sixteen(chains), sixteen(chains + 16), sixteen(chains + 32), sixteen(chains + 48));
    float part[4];
    _mm_storeu_ps(part, four);
    return (part[0] + part[1]) + (part[2] + part[3]);
}
#else
inline float sum_chains_in_order(float const* chains) {
    float level[sum_chains];
    for (int i = 0; i < sum_chains; ++i) level[i] = chains[i];
    for (int count = sum_chains / 2; count > 0; count /= 2)
        for (int i = 0; i < count; ++i) level[i] = level[2 * i] + level[2 * i + 1];
    return level[0];
}
#endif

}  // namespace halfstep::host
