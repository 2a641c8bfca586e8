#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats the sources as .clang-format says, which is for clang-format 16: others break lines elsewhere.
#   tests/format.sh            in place; installs clang-format-16 where it is missing and Debian has it, else: pip install clang-format==16.0.6
#   tests/format.sh --check    names the files that differ; 77 without a clang-format 16
set -euo pipefail
cd "$(dirname "$0")/.."
. cmake/packages.sh

[ "${1:-}" = --check ] || command -v clang-format-16 >/dev/null || need_packages clang-format-16 || true
tool=""
for name in clang-format-16 clang-format; do
    "$name" --version 2>/dev/null | grep -q 'version 16\.' && { tool=$name; break; }
done
[ -n "$tool" ] || { echo "skipped: there is no clang-format 16 here"; exit 77; }

mapfile -t files < <(find include policies kernels tests examples -name '*.[hc]pp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h' | sort)
if [ "${1:-}" != --check ]; then
    exec "$tool" -i "${files[@]}"
fi
# Not --dry-run: it warns of replacements that change nothing.
status=0
for file in "${files[@]}"; do
    "$tool" "$file" | cmp -s - "$file" || { echo "$file: tests/format.sh would change it"; status=1; }
done
exit $status
