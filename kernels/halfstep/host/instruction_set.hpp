// SPDX-License-Identifier: Apache-2.0
/// The instruction set that the user compiles for. Each has its inline namespace, which holds the loops, what drives
/// them and the backend, so that files compiled for different ones can be linked together and each runs its own.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define HS_LANES_AVX512 1
#define HS_INSTRUCTION_SET avx512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define HS_LANES_AVX2 1
#define HS_INSTRUCTION_SET avx2
#else
#define HS_INSTRUCTION_SET portable
#endif
