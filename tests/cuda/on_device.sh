#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# on_device.sh PTXRUN PROGRAM…: runs a CUDA program on a GPU if there is one, else under ptxrun, else says that it was skipped (77).
ptxrun=$1
shift
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    exec "$@"
elif [ -x "$ptxrun" ]; then
    exec "$ptxrun" "$@"
fi
echo "no GPU here and no ptxrun: skipped"
exit 77
