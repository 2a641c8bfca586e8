#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every recipe of the matrix (tests/matrix) under every compiler, optimization level, instruction set and thread count
# that this machine has, and compares the bits of what it leaves behind.
#
#   tests/same_bits.sh [build folder]        default: build/same_bits
#   HALFSTEP_SAME_BITS=quick                 -O2 alone, and each instruction set once
#   HALFSTEP_JOBS=n                          compilations side by side; default: one a processor
#
# Prints a line a variant and
#   figure same_bits_variants N              variants compared with the first
#   figure different_bits N                  recipes that differ from it, over all variants
# and fails if a recipe differs or a program does not build.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/same_bits}
jobs=${HALFSTEP_JOBS:-$(nproc)}
parts=8
mkdir -p "$out"

compilers=()
for compiler in "${CXX:-}" g++ clang++-16 clang++; do
  command -v "${compiler:-none}" >/dev/null || continue
  # A compiler under two names is one.
  version=$("$compiler" --version | head -1)
  for known in "${compilers[@]:-}"; do
    [ -n "$known" ] && [ "$("$known" --version | head -1)" = "$version" ] && continue 2
  done
  echo 'int main(){}' | "$compiler" -std=c++20 -x c++ - -o "$out/probe" 2>/dev/null && compilers+=("$compiler")
done

# The program must run here: an instruction set counts if this processor has it.
has() {
  local flag
  for flag in "$@"; do grep -qw "$flag" /proc/cpuinfo || return 1; done
}
sets=("baseline:")
case $(uname -m) in
  x86_64)
    has avx2 fma f16c && sets+=("avx2:-mavx2 -mfma -mf16c")
    has avx512f avx512bw avx512vl avx512dq &&
      sets+=("avx512:-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq")
    ;;
esac
levels=(-O2)
if [ "${HALFSTEP_SAME_BITS:-}" != quick ]; then
  # What the compiler may fuse by itself must make no difference either.
  sets+=("native:-march=native" "native without contraction:-march=native -ffp-contract=off")
  levels+=(-O3)
fi

# build folder compiler flags…
build() {
  local folder=$1 compiler=$2
  shift 2
  mkdir -p "$folder"
  local flags="-std=c++20 -I$root/include -I$root/policies -I$root/kernels -I$root/tests $*"
  {
    for ((part = 0; part < parts; ++part)); do
      echo "$compiler $flags -DHALFSTEP_MATRIX_PART=$part -c $root/tests/matrix/part.cpp -o $folder/part$part.o"
    done
    for file in make_step workload print_bits; do
      echo "$compiler $flags -c $root/tests/matrix/$file.cpp -o $folder/$file.o"
    done
  } | xargs -P "$jobs" -I{} sh -c '{}' || return 1
  # shellcheck disable=SC2086
  "$compiler" $flags "$folder"/*.o -o "$folder/print_bits"
}

export OMP_WAIT_POLICY=passive
first=""
variants=0
different=0
failed=0
# compare name command…: runs print_bits and holds its lines against the first variant's.
compare() {
  local name=$1 lines
  shift
  lines=$out/${name//[^A-Za-z0-9_-]/_}.txt
  "$@" >"$lines" || { failed=1; echo "$name: does not run"; return 0; }
  if [ -z "$first" ]; then
    first=$lines
    echo "$name: $(wc -l <"$lines") recipes, compared with below"
    return 0
  fi
  local count
  count=$(diff "$first" "$lines" | grep -c '^>' || true)
  variants=$((variants + 1))
  different=$((different + count))
  echo "$name: $count recipes differ"
  [ "$count" = 0 ] || diff "$first" "$lines" | grep '^>' | head -5
}

for compiler in "${compilers[@]}"; do
  openmp=""
  echo 'int main(){}' | "$compiler" -fopenmp -x c++ - -o "$out/probe" 2>/dev/null && openmp=-fopenmp
  for set in "${sets[@]}"; do
    for level in "${levels[@]}"; do
      name="${compiler##*/} $level ${set%%:*}"
      folder=$out/${name//[^A-Za-z0-9_-]/_}
      # shellcheck disable=SC2086
      build "$folder" "$compiler" $level ${set#*:} $openmp || { failed=1; echo "$name: does not build"; continue; }
      compare "$name" "$folder/print_bits" 1
      for threads in 2 3 4; do
        [ -z "$openmp" ] || compare "$name threads=$threads" "$folder/print_bits" "$threads"
      done
      compare "$name streaming" "$folder/print_bits" 1 stream
    done
  done
done

echo "figure same_bits_variants $variants"
echo "figure different_bits $different"
[ "$different" = 0 ] && [ "$failed" = 0 ] && [ "$variants" -gt 0 ]
