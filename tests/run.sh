#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the tests and runs them.
#   tests/run.sh          the release build, with this machine's instruction set
#   tests/run.sh ci       release (with the CUDA tests where there is nvcc), sanitizers
#   tests/run.sh all      those, clang, portable lanes
#   tests/run.sh VARIANT… presets by name (CMakePresets.json)
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh

need_packages g++ cmake ninja-build ccache python3 libboost-dev catch2 nlohmann-json3-dev libeigen3-dev libpng-dev \
    libcli11-dev libfmt-dev
variants=$*
case $variants in
"") variants=release ;;
ci) variants="release sanitize thread" ;;
all) variants="release sanitize thread clang baseline" ;;
esac
# Where a list has the variants of clang and there is no clang, they are left out, and said so.
if [ "$*" = ci ] || [ "$*" = all ]; then
    if ! need_packages clang-16 libomp-16-dev libclang-rt-16-dev; then
        echo "clang-16 is not to be had here: the variants thread and clang are skipped"
        variants=${variants/thread/}
        variants=${variants/clang/}
    fi
fi

# With nvcc the CUDA tests and examples as well; without a GPU and ptxrun they are reported as skipped.
if [ "$*" = ci ] || [ "$*" = all ]; then
    if command -v nvcc >/dev/null; then
        variants=${variants/release/cuda}
    else
        echo "no nvcc here: the CUDA tests are skipped"
    fi
fi

export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
# What clang's OpenMP runtime does between threads is not visible to the thread sanitizer without its Archer tool.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 ${TSAN_OPTIONS:-}"
jobs=$(nproc)
passed=0 failed=0
for variant in $variants; do
    echo "== $variant"
    build=build/$variant
    examples=OFF
    [ "$variant" != cuda ] || examples=ON
    cmake --preset "$variant" -DHALFSTEP_EXAMPLES=$examples >"build.log.$$" 2>&1 || { cat "build.log.$$"; rm -f "build.log.$$"; exit 1; }
    rm -f "build.log.$$"
    cmake --build "$build" -j "$jobs" -- --quiet
    log=$build/ctest.log
    ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error | tee "$log" || true
    summary=$(grep -E 'tests passed, [0-9]+ tests? failed out of [0-9]+' "$log") || { echo "no test ran in $variant"; exit 1; }
    bad=$(sed -E 's/.* ([0-9]+) tests? failed out of ([0-9]+).*/\1/' <<<"$summary")
    all=$(sed -E 's/.* ([0-9]+) tests? failed out of ([0-9]+).*/\2/' <<<"$summary")
    failed=$((failed + bad))
    passed=$((passed + all - bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
