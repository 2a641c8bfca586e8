# SPDX-License-Identifier: Apache-2.0
"""Compiles the first steps of steps.cpp."""

import os
import pathlib
import platform
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPS = 9  # in steps.cpp


def compiled(compiler: str, steps: int, *options: str) -> tuple:
    """Processor seconds and peak bytes of memory."""
    # One instruction set for every machine, and the one that most users name.
    march = ["-march=x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else []
    includes = [f"-I{ROOT / folder}" for folder in ("include", "policies", "kernels")]
    command = [compiler, "-std=c++20", *march, *includes, f"-DHALFSTEP_STEPS={steps}", "-c", str(HERE / "steps.cpp"), *options]
    # Without a driver such as ccache in between, whose memory and time would be counted.
    process = subprocess.Popen(command, env={**os.environ, "CCACHE_DISABLE": "1"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"does not compile: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
