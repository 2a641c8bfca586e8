// SPDX-License-Identifier: Apache-2.0
/// Everything for CUDA beside everything for the host. For files that nvcc compiles, with --expt-relaxed-constexpr.
#pragma once

#include <halfstep/cuda/cuda_backend.cuh>
#include <halfstep/halfstep.hpp>
