#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Speed: composed steps beside a hand-written one, the peers' and the memory-only loop, interleaved in one process (tests/bench/bench.py),
# then every recipe under Google Benchmark (tests/bench/bench.cpp).
#   figure NAME VALUE, tables, Google Benchmark's lines
#
#   tests/bench.sh [options]
#     --with-peers          installs torch and DeepSpeed in build/bench-venv first (about 0.6 GB to fetch, 1.5 GB on disk)
#     --sizes 1e4,1e6,tiny,1e8      --threads 1,2      --seconds 20 (for each size and number of threads)
#     --markdown FILE       writes the tables as well; docs/performance_tables.md is where the pages take them from
#     --no-google           without Google Benchmark
#     --flags               also the step under other compiler flags (tests/bench/flags.py)
#   HALFSTEP_BENCH_PYTHON   a Python that has the peers; else build/bench-venv's where it is, else python3
#   HALFSTEP_BENCH_FLAGS    instead of -O2 -march=native
#
# 10 GB of memory for 1e8 with all peers. What is not installed is left out of the comparison, and said so.
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh
need_packages g++ libboost-dev libbenchmark-dev python3 python3-venv

with_peers=no google=yes flags=no sizes=1e4,1e6,tiny,1e8 threads=1,2 seconds=20 markdown=()
while [ $# -gt 0 ]; do
    case $1 in
    --with-peers) with_peers=yes ;;
    --no-google) google=no ;;
    --flags) flags=yes ;;
    --sizes) sizes=$2 && shift ;;
    --threads) threads=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    --markdown) markdown=(--markdown "$2") && shift ;;
    *) echo "unknown option $1; see the head of $0" >&2 && exit 2 ;;
    esac
    shift
done
build=build/bench venv=build/bench-venv
mkdir -p "$build"

# A library with nothing in it, or one symbol: stands in for one that a CUDA build of torch names and does not call on the CPU.
stub() { # soname, source, version script
    printf '%s\n' "$2" >"$build/stub.c"
    printf '%s\n' "$3" >"$build/stub.map"
    gcc -shared -fPIC "$build/stub.c" -Wl,-soname,"$1" -Wl,--version-script="$build/stub.map" -o "$venv/stubs/$1"
}
install_peers() {
    [ -e "$venv/complete" ] && return
    python3 -m venv "$venv"
    local pip=("$venv/bin/pip" install --quiet)
    if ldconfig -p | grep -q libcublas.so.13; then # CUDA's libraries are here, all but three
        "${pip[@]}" --no-deps torch
        mkdir -p "$venv/stubs"
        stub libcufile.so.0 '' '{ };'
        stub libcusparseLt.so.0 '' '{ };'
        stub libnvshmem_host.so.3 'int nvshmem_selected_device_transport(void) { return -1; }' \
            'NVSHMEM { global: nvshmem_selected_device_transport; local: *; };'
    else
        "${pip[@]}" torch
    fi
    "${pip[@]}" numpy filelock typing-extensions sympy networkx jinja2 fsspec 'setuptools>=77.0.3' packaging \
        einops hjson msgpack ninja psutil py-cpuinfo pydantic tqdm
    DS_ACCELERATOR=cpu LD_LIBRARY_PATH=$PWD/$venv/stubs "${pip[@]}" --no-deps --no-build-isolation deepspeed
    touch "$venv/complete"
}
[ $with_peers = no ] || install_peers
python=${HALFSTEP_BENCH_PYTHON:-}
if [ -z "$python" ]; then
    python=python3
    if [ -e "$venv/complete" ]; then
        python=$PWD/$venv/bin/python
        export PATH=$PWD/$venv/bin:$PATH LD_LIBRARY_PATH=$PWD/$venv/stubs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export TORCH_EXTENSIONS_DIR=${TORCH_EXTENSIONS_DIR:-$PWD/$venv/extensions}
    fi
fi
if ! "$python" -c 'import torch' 2>/dev/null && ! "$python" -c 'import numpy' 2>/dev/null; then
    need_packages python3-numpy
    python=/usr/bin/python3 # the one that Debian's package is for
fi
export DS_ACCELERATOR=cpu PYTHONDONTWRITEBYTECODE=1

# g++ 12 takes its own AVX-512 intrinsics for uninitialized.
compile_with() { # flags, in one word; then the rest of the command
    # shellcheck disable=SC2086
    g++ -std=c++20 $1 -fopenmp -Wall -Wextra -Wconversion -Wno-maybe-uninitialized -Werror -Iinclude -Ipolicies -Ikernels "${@:2}"
}
own_flags=${HALFSTEP_BENCH_FLAGS:--O2 -march=native}
compile_with "$own_flags" -shared -fPIC tests/bench/bench_library.cpp -o "$build/libbench.so"
[ $google = no ] || compile_with "$own_flags" tests/bench/bench.cpp -lbenchmark -pthread -o "$build/bench"

"$python" tests/bench/bench.py "$build/libbench.so" --sizes "$sizes" --threads "$threads" --seconds "$seconds" "${markdown[@]}"

if [ $flags = yes ]; then
    libraries=()
    while IFS= read -r set; do
        library=$build/libbench${#libraries[@]}.so
        compile_with "$set" -shared -fPIC tests/bench/bench_library.cpp -o "$library"
        libraries+=("$library=$set")
    done <<'EOS'
-O2 -march=native
-O3 -march=native
-O2 -march=x86-64-v4
-O2 -march=x86-64-v3
-O2
-O3
EOS
    "$python" tests/bench/flags.py "${libraries[@]}" "${markdown[@]}"
fi

if [ $google = yes ]; then
    # The same sizes and numbers of threads: names are recipe / parameters / threads.
    parameters=$(tr , '\n' <<<"$sizes" | sed -nE 's/^1e([0-9]+)$/\1/p' | while read -r zeros; do printf '|1%0*d' "$zeros" 0; done)
    [ -z "$parameters" ] || "$build/bench" --benchmark_min_time=0.2 --benchmark_filter="/(${parameters#|})/(${threads//,/|})/"
fi
