#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) over programs that instantiate the library: every warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh
need_packages clang-tidy-16 libomp-16-dev libboost-dev catch2 g++

# A loop differs by instruction set; the rest does not.
status=0
for march in "" -march=x86-64-v3 -march=x86-64-v4; do
    [[ $(uname -m) = x86_64 || -z $march ]] || continue
    files=(tests/compile_time/steps.cpp)
    [ -n "$march" ] || files+=(tests/docs/*.cpp)
    said=$(clang-tidy-16 --quiet --warnings-as-errors='*' --header-filter='(include|policies|kernels)/halfstep/' "${files[@]}" -- \
        -std=c++20 $march -fopenmp -Iinclude -Ipolicies -Ikernels -Itests -DHALFSTEP_STEPS=9 2>&1) || status=1
    grep -v 'warnings generated\|^Suppressed\|^Use -header-filter' <<<"$said" || true
done
exit $status
