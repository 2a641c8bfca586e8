#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seconds.py COMPILER RUNS: the figures of tests/compile_time.sh."""

import os
import statistics
import sys

sys.dont_write_bytecode = True
from compile import STEPS, compiled


def main(compiler: str, runs: int) -> None:
    counts = (0, 1, STEPS)
    seconds = {steps: [] for steps in counts}
    peak = 0
    for _ in range(runs):  # interleaved, so that a busy minute falls on all
        for steps in counts:
            taken, memory = compiled(compiler, steps, "-O2", "-fopenmp", "-o", os.devnull)
            seconds[steps].append(taken)
            if steps == 1:
                peak = max(peak, memory)
    # The shortest run: other work on the machine only ever adds to one.
    shortest = {steps: min(taken) for steps, taken in seconds.items()}
    print(f"# the header alone: {shortest[0]:.2f} s; medians: "
          + ", ".join(f"{statistics.median(seconds[s]):.2f} s for {s}" for s in counts))
    print(f"figure compile_seconds_first {shortest[1]:.2f}")
    print(f"figure compile_seconds_further {(shortest[STEPS] - shortest[1]) / (STEPS - 1):.3f}")
    print(f"figure compile_mb {peak / 1e6:.0f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
