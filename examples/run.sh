#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the main example, trains, plots.
# Arguments go to the program, as in `examples/run.sh --seeds 1`; `--help` lists them.
set -euo pipefail
SECONDS=0
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/examples
out=$root/build/examples-out

missing=()
if command -v dpkg-query > /dev/null; then
    for package in libboost-dev libeigen3-dev libpng-dev libfmt-dev libcli11-dev; do
        status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2> /dev/null || true)
        [[ $status == installed ]] || missing+=("$package")
    done
    command -v gnuplot > /dev/null || missing+=(gnuplot-nox)
    command -v make > /dev/null || missing+=(make)
else
    echo "no dpkg here: Boost, Eigen, libpng, fmt, CLI11, gnuplot and make have to be installed already" >&2
fi
if ((${#missing[@]})); then
    echo "installing ${missing[*]}"
    as_root=()
    ((EUID == 0)) || as_root=(sudo)
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
fi

mkdir -p "$out"
log=$out/build.log
echo "building (log: $log)"
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-march=native -DHALFSTEP_TESTS=OFF -DHALFSTEP_EXAMPLES=ON)
if ! { cmake -S "$root" -B "$build" "${options[@]}" && cmake --build "$build" --target train; } > "$log" 2>&1; then
    tail -n 30 "$log" >&2
    exit 1
fi

"$build/examples/train" --out "$out" "$@"
echo
[[ -f $out/scale_curve_seed0.csv ]] || exit 0  # --help
gnuplot -e "curve='$out/scale_curve_seed0.csv'; picture='$out/scale_curve.png'" "$root/examples/plot_scale.gp"
echo "plot of loss scale and loss: $out/scale_curve.png"
echo "figure seconds_total $SECONDS"
