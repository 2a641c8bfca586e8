#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in five minutes: builds the CUDA tests and runs them (cuda_same_bits compares with the host), runs one of
# them under compute-sanitizer, times every recipe beside its peers, and leaves build/device_report.json.
#
#   tests/device.sh [options]
#     --tests REGEX     only these tests
#     --built           builds nothing: takes the programs that are in build/cuda
#   HALFSTEP_PTXRUN     without a GPU: an interpreter of CUDA programs, under which the tests and a benchmark of 10^4 parameters run, to try
#                       this script. Without it and without a GPU nothing is done, which is no failure.
#   HALFSTEP_BENCH_PYTHON   a Python that has torch and other peers; else python3
set -uo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh

only=. build=yes
while [ $# -gt 0 ]; do
    case $1 in
    --tests) only=$2 && shift ;;
    --built) build=no ;;
    *) echo "unknown option $1; see the head of $0" >&2 && exit 2 ;;
    esac
    shift
done

# Seconds for each part. A GPU's host has many cores; under an interpreter time is no matter.
build_seconds=130 test_seconds=70 sanitize_seconds=15 bench_seconds=35 peer_seconds=20
sizes=1e6,1e7,1e8,1e9 seconds=0.3
if nvidia-smi -L 2>/dev/null | grep -q GPU; then
    under=() architecture=native
elif [ -n "${HALFSTEP_PTXRUN:-}" ]; then
    under=("$HALFSTEP_PTXRUN") architecture=90
    build_seconds=7200 test_seconds=7200 sizes=1e4 seconds=0.02
else
    echo "no GPU here: skipped"
    exit 0
fi

left=build/device programs=build/cuda failed=0
rm -rf "$left"
mkdir -p "$left"

# part NAME SECONDS LOG COMMAND…: runs a part, notes how it went.
part() {
    local name=$1 limit=$2 log=$3 begin=$SECONDS status=passed
    shift 3
    timeout "$limit" "$@" >"$left/$log" 2>&1
    case $? in
    0) ;;
    124) status=timeout failed=1 ;;
    *) status=failed failed=1 ;;
    esac
    echo "$name $status $((SECONDS - begin))" | tee -a "$left/parts.txt"
    [ $status = passed ] || tail -n 20 "$left/$log"
}

if [ ${#under[@]} -eq 0 ]; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -n 1 |
        sed -E 's/^([^,]*), ([^,]*), (.*)$/name \1\ndriver \2\nmemory \3/' >"$left/device.txt"
else
    echo "name an interpreter: times say nothing" >"$left/device.txt"
fi
git rev-parse HEAD 2>/dev/null | sed 's/^/commit /' >>"$left/device.txt"

# Orders and faults that only an interpreter can make are left to it.
without=()
[ ${#under[@]} -gt 0 ] || without=(-E '_(shuffled_[0-9]+|reversed|two_devices)$')

# The programs that the chosen tests run, as targets.
targets() {
    ctest --test-dir "$programs" --show-only=json-v1 -L cuda -R "$only" | python3 -c '
import json, os, sys
root = os.path.abspath(sys.argv[1]) + "/"
words = {w for test in json.load(sys.stdin)["tests"] for w in test.get("command", [])}
print(" ".join(sorted(w[len(root):] for w in words if w.startswith(root))))' "$programs"
}
build_all() {
    cmake --preset cuda -DHALFSTEP_PTXRUN="${HALFSTEP_PTXRUN:-}" -DCMAKE_CUDA_ARCHITECTURES="$architecture" >/dev/null &&
        cmake --build "$programs" -j "$(nproc)" --target device_bench $(targets) -- --quiet
}
run_tests() { ctest --test-dir "$programs" -L cuda -R "$only" "$@" --output-on-failure --no-tests=error --verbose; }
run_programs() { # without CMake: the programs themselves, noted in the lines that ctest prints
    local n=0 bad=0 line begin result
    while read -r line; do
        [[ $(basename "${line%% *}") =~ $only ]] && [ -x "$programs/${line%% *}" ] || continue
        n=$((n + 1)) begin=$SECONDS result=Passed
        "$@" $programs/$line || { result=Failed bad=1; }
        echo "$n/$n Test #$n: $(basename "${line%% *}") ... $result $((SECONDS - begin)).0 sec"
    done <<'END'
tests/cuda/cuda_same_bits
tests/cuda/cuda_step
tests/cuda/cuda_errors
tests/docs/docs_cuda
examples/custom_policy_cuda
examples/torch_extension/step_c_cuda
examples/train_cuda --shrink 12 --steps 20 --seeds 1 --out build/device
END
    [ $n -gt 0 ] && [ $bad -eq 0 ]
}
export -f build_all run_tests run_programs targets
export programs only architecture

if [ $build = yes ]; then
    need_packages g++ cmake ninja-build python3 libboost-dev catch2 libpng-dev libfmt-dev libcli11-dev || exit 1
    part build "$build_seconds" build.log bash -c build_all
    part tests "$test_seconds" ctest.log bash -c 'run_tests "$@"' tests "${without[@]}"
else
    part tests "$test_seconds" ctest.log bash -c 'run_programs "$@"' tests "${under[@]}"
fi
if [ ${#under[@]} -eq 0 ] && command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck initcheck; do
        part "$tool" "$sanitize_seconds" "sanitize_$tool.log" \
            compute-sanitizer --tool "$tool" --error-exitcode 9 "$programs/examples/torch_extension/step_c_cuda"
    done
else
    echo "sanitizer skipped 0" | tee -a "$left/parts.txt"
fi
part bench "$bench_seconds" bench.log "${under[@]}" "$programs/tests/bench/device_bench" --sizes "$sizes" --seconds "$seconds"
part peers "$peer_seconds" peers.log "${HALFSTEP_BENCH_PYTHON:-python3}" tests/bench/device_peers.py --sizes "$sizes" --seconds 0.1
python3 tests/bench/device_report.py "$left" build/device_report.json
echo "build/device_report.json"
exit $failed
