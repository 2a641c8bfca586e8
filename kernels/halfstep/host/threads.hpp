// SPDX-License-Identifier: Apache-2.0
/// Host threads: OpenMP where the user compiles with it, else one.
#pragma once

#include <cstdint>

#include <halfstep/core/config.hpp>
#include <halfstep/host/function_ref.hpp>
#include <halfstep/host/instruction_set.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace halfstep::host::inline HS_INSTRUCTION_SET {

/// Threads that OpenMP would take by itself.
inline int default_threads() {
#if defined(_OPENMP)
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/// `f(thread, count)` on `threads` threads; returns when all are done. `f` must not throw.
HS_NOINLINE inline void parallel(int threads, function_ref<void(int, int)> f) {
#if defined(_OPENMP)
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        f(omp_get_thread_num(), omp_get_num_threads());
        return;
    }
#endif
    (void)threads;
    f(0, 1);
}

struct work_range {
    std::int64_t begin, end;
};
/// The part of `count` units that falls to one thread.
inline work_range share(std::int64_t count, int thread, int threads) {
    const std::int64_t each = count / threads, rest = count % threads;
    const std::int64_t begin = thread * each + (thread < rest ? thread : rest);
    return {begin, begin + each + (thread < rest ? 1 : 0)};
}

}  // namespace halfstep::host::inline HS_INSTRUCTION_SET
