#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions a parameter of composed steps against steps written by hand (tests/zero_overhead/hand.hpp), counted by callgrind: the
# difference between one step and four, so that what binding costs does not count. AVX2, which is what valgrind runs.
#   figure overhead_RECIPE_COMPILER RATIO      composed over by hand
#   tests/zero_overhead.sh [FILE]              appends a table to FILE
# Fails unless at least five of the six recipes are within 1.02 with every compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh
need_packages g++ valgrind libboost-dev
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compilers=(g++)
for clang in clang++-16 clang++-17 clang++-18 clang++-19; do
    command -v "$clang" >/dev/null && { compilers+=("$clang"); break; }
done
for compiler in "${compilers[@]}"; do
    "$compiler" -std=c++20 -O2 -march=x86-64-v3 -Iinclude -Ipolicies -Ikernels tests/zero_overhead/count.cpp -o "$work/$compiler"
done

# slope PROGRAM RECIPE WAY: instructions of three further steps.
slope() {
    local steps counts=()
    for steps in 1 4; do
        counts+=("$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$2" "$3" $elements $steps 2>&1 |
            sed -nE 's/.*Collected : ([0-9]+).*/\1/p')")
    done
    echo $((counts[1] - counts[0]))
}
elements=131072 status=0
table=$work/table
printf '\n## overhead\n\n| recipe | compiler | instructions a parameter, composed | by hand |\n| --- | --- | ---: | ---: |\n' >"$table"
for compiler in "${compilers[@]}"; do
    within=0
    for recipe in fp16_adamw_clip fp16_adamw bf16_stochastic float_momentum bf16_lion fp16_kahan; do
        composed=$(slope "$work/$compiler" $recipe composed)
        hand=$(slope "$work/$compiler" $recipe hand)
        python3 - "$recipe" "${compiler%%-*}" "$composed" "$hand" $((3 * elements)) "$table" <<'PY' && within=$((within + 1))
import sys
recipe, compiler, composed, hand, updates = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
ours, theirs = composed / updates, hand / updates
print(f"# {recipe}, {compiler}: {ours:.3f} composed, {theirs:.3f} by hand, instructions a parameter and step")
print(f"figure overhead_{recipe}_{compiler.replace('+', 'p')} {ours / theirs:.4f}")
with open(sys.argv[6], "a", encoding="utf-8") as table:
    table.write(f"| `{recipe}` | {compiler} | {ours:.2f} | {theirs:.2f} |\n")
sys.exit(ours > 1.02 * theirs)
PY
    done
    [ $within -ge 5 ] || status=1
done
[ $# -eq 0 ] || cat "$table" >>"$1"
exit $status
