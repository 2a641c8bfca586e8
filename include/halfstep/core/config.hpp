// SPDX-License-Identifier: Apache-2.0
/// Version, and the macro that lets one function run on both sides.
#pragma once

#define HALFSTEP_VERSION_MAJOR 0
#define HALFSTEP_VERSION_MINOR 1
#define HALFSTEP_VERSION_PATCH 0

/// Marks a function that runs on the host and, under nvcc, on the device. The only CUDA word a policy knows.
#if defined(__CUDACC__)
#define HS_FUNCTION __host__ __device__
#else
#define HS_FUNCTION
#endif

/// For the few functions that sit inside the element loops: a call there would cost more than their body.
#if defined(__CUDACC__)
#define HS_INLINE __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define HS_INLINE inline __attribute__((always_inline))
#else
#define HS_INLINE inline
#endif
