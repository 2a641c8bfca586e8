#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs a stranger's program in one way: stranger.sh WAY SOURCE BUILD CXX CMAKE GENERATOR
# SOURCE is halfstep's checkout, BUILD the folder that it is built in.
set -euo pipefail
way=$1 source=$2 build=$3 cxx=$4 cmake=$5 generator=$6
here=$source/tests/packaging/stranger
work=$(mktemp -d "${TMPDIR:-/tmp}/halfstep-stranger.XXXXXX")
trap 'rm -rf "$work"' EXIT

# A user's flags are the user's: none of ours, and the oldest language that halfstep takes.
unset CXXFLAGS CPPFLAGS CPATH CPLUS_INCLUDE_PATH
cmake_project() {
    "$cmake" -S "$here/$1" -B "$work/build" -G "$generator" -DCMAKE_CXX_COMPILER="$cxx" "${@:2}" >"$work/log" 2>&1 &&
        "$cmake" --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    program=$work/build/stranger
}
compile() {
    "$cxx" -std=c++20 "$@" "$here/main.cpp" -o "$work/stranger"
    program=$work/stranger
}
install_halfstep() { "$cmake" --install "$build" --prefix "$work/prefix" >/dev/null; }

case $way in
find_package)
    install_halfstep
    cmake_project find_package -DCMAKE_PREFIX_PATH="$work/prefix"
    ;;
fetch_content | add_subdirectory)
    cmake_project "$way" -DHALFSTEP_SOURCE="$source" -DFETCHCONTENT_FULLY_DISCONNECTED=ON
    # What a stranger installs is the stranger's.
    "$cmake" --install "$work/build" --prefix "$work/prefix" >/dev/null
    [ ! -e "$work/prefix/include" ] || { echo "halfstep is installed with a stranger's project"; exit 1; }
    ;;
pkg_config)
    command -v pkg-config >/dev/null || { echo "skipped: there is no pkg-config here"; exit 77; }
    install_halfstep
    export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig
    pkg-config --exact-version=0.1.0 halfstep
    read -ra flags < <(pkg-config --cflags --libs halfstep)
    compile "${flags[@]}"
    ;;
include_paths)
    compile -I "$source/include" -I "$source/policies" -I "$source/kernels"
    ;;
single_header)
    python=$(command -v python3) || { echo "skipped: there is no python3 here to make the header"; exit 77; }
    "$python" "$source/cmake/amalgamate.py" "$work/include/halfstep/single/halfstep.hpp"
    compile -Wall -Wextra -Wconversion -Wpedantic -Werror -DSINGLE_HEADER -I "$work/include"
    # The installed one is the same file.
    install_halfstep
    cmp "$work/include/halfstep/single/halfstep.hpp" "$work/prefix/include/halfstep/single/halfstep.hpp"
    ;;
*)
    echo "stranger.sh: no such way: $way"
    exit 2
    ;;
esac

"$program" | tee "$work/output"
diff "$here/expected.txt" "$work/output"
