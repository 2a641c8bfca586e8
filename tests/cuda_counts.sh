#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts of a CUDA step under ptxrun (tests/cuda/counts/counts.py says which), as `figure NAME VALUE` lines. Fails when one is over its bound.
#   tests/cuda_counts.sh [FILE]      appends a table to FILE
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/cuda
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 0; }
cmake --preset cuda -DHALFSTEP_EXAMPLES=OFF >/dev/null
ptxrun=$(sed -n 's/^HALFSTEP_PTXRUN:FILEPATH=//p' "$build/CMakeCache.txt")
[ -x "$ptxrun" ] || { echo "no ptxrun here: skipped"; exit 0; }
# ptxas refuses a kernel of the matrix that spills registers or uses local memory on sm_80, sm_90 or sm_100.
cmake --build "$build" --target cuda_counts cuda_same_bits -- --quiet
echo "figure spills 0"
python3 tests/cuda/counts/counts.py "$ptxrun" "$build/tests/cuda/cuda_counts" "$@"
"$ptxrun" "$build/tests/cuda/cuda_same_bits"
