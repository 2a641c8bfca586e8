#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a user's file costs the compiler (tests/compile_time/steps.cpp, g++ -O2): processor seconds, the shortest of RUNS, and peak memory.
#   figure compile_seconds_first    a file with one step; the header is in it
#   figure compile_seconds_further  each of eight further steps, no two of one rule and dtype
#   figure compile_mb               the file with one step
#
#   tests/compile_time.sh [RUNS]    default: 7. Other work on the machine slows the processor down: take them when there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh
need_packages g++ python3 libboost-dev
exec python3 tests/compile_time/seconds.py "${CXX:-g++}" "${1:-7}"
