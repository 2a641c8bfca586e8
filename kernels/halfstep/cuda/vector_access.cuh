// SPDX-License-Identifier: Apache-2.0
/// Several neighbouring elements in one access.
#pragma once

#include <cstdint>

#include <halfstep/core/element.hpp>

namespace halfstep::cuda_detail {

template <class T, int N>
struct alignas(N * sizeof(T)) vector_of {
    T element[N];
};

template <int N, class T>
__device__ __forceinline__ bool is_aligned(T const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % (N * sizeof(T)) == 0;
}

/// `N` elements from `from`, which is aligned to them all, in one access.
template <int N, class T>
__device__ __forceinline__ void load(T const* from, T (&to)[N]) {
    const auto v = *reinterpret_cast<vector_of<T, N> const*>(from);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = v.element[i];
}
template <int N, class T>
__device__ __forceinline__ void store(T* to, T const (&from)[N]) {
    vector_of<T, N> v;
#pragma unroll
    for (int i = 0; i < N; ++i) v.element[i] = from[i];
    *reinterpret_cast<vector_of<T, N>*>(to) = v;
}

}  // namespace halfstep::cuda_detail
