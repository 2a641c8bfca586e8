// SPDX-License-Identifier: Apache-2.0
// step_c.h on a CUDA device.
#include <halfstep/cuda.cuh>

static halfstep::cuda_backend backend_on(void* stream) {
    return halfstep::cuda_backend(static_cast<cudaStream_t>(stream));
}

#include "step_c.hpp"
