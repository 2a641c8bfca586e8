// SPDX-License-Identifier: Apache-2.0
/// Version, and the macro that lets one function run on both sides.
#pragma once

#define HALFSTEP_VERSION_MAJOR 0
#define HALFSTEP_VERSION_MINOR 1
#define HALFSTEP_VERSION_PATCH 0

#if defined(__CUDACC__) && !defined(__CUDACC_RELAXED_CONSTEXPR__)
#error "halfstep: nvcc needs --expt-relaxed-constexpr: policies are constexpr functions that run on both sides"
#endif

/// Marks a function of a policy that runs on the host and on the device; the function is constexpr as well.
///
/// Expands to nothing: nvcc refuses `__device__` on a template that the host instantiates with SIMD vectors, and
/// --expt-relaxed-constexpr makes every constexpr function callable on the device. The word stays as the place for
/// another compiler's attribute, and says what is meant.
#define HS_FUNCTION

/// The same for scalar functions that call what exists once a side.
#if defined(__CUDACC__)
#define HS_BOTH_SIDES __host__ __device__
#else
#define HS_BOTH_SIDES
#endif

/// Unrolls the loop that follows. nvcc does not know the pragma but hands it to the host compiler.
#if defined(__CUDACC__)
#define HS_UNROLL(n) _Pragma("nv_diag_suppress 1675") _Pragma(#n) _Pragma("nv_diag_default 1675")
#else
#define HS_UNROLL(n) _Pragma(#n)
#endif

/// For the few functions that sit inside the element loops: a call there would cost more than their body.
#if defined(__GNUC__)
#define HS_HOST_INLINE inline __attribute__((always_inline))
#else
#define HS_HOST_INLINE inline
#endif
#define HS_INLINE HS_FUNCTION HS_HOST_INLINE

/// For what is called rarely and from every composition: a call is cheaper than a copy. HS_COLD: and the code
/// around the call keeps no registers free for it.
#if defined(__GNUC__)
#define HS_NOINLINE __attribute__((noinline))
#define HS_COLD __attribute__((noinline, cold))
#else
#define HS_NOINLINE
#define HS_COLD
#endif
