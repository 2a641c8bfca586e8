#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts of a CUDA step under ptxrun (tests/cuda/counts/counts.py says which), as `figure NAME VALUE` lines. Fails when one is over its bound.
#   tests/cuda_counts.sh [BUILD]      BUILD: a build folder of the preset `cuda`, made where it is missing; default build/cuda
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/cuda}
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 0; }
[ -e "$build/build.ninja" ] || cmake --preset cuda -DHALFSTEP_EXAMPLES=OFF >/dev/null
cmake --build "$build" --target cuda_counts cuda_same_bits halfstep_cuda_resources -- --quiet
ptxrun=$(sed -n 's/^HALFSTEP_PTXRUN:FILEPATH=//p' "$build/CMakeCache.txt")
[ -x "$ptxrun" ] || { echo "no ptxrun here: skipped"; exit 0; }
python3 tests/cuda/counts/counts.py "$ptxrun" "$build/tests/cuda/cuda_counts"
python3 tests/cuda/resources.py "$build"/tests/cuda/*.resources
"$ptxrun" "$build/tests/cuda/cuda_same_bits"
