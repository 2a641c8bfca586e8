# SPDX-License-Identifier: Apache-2.0
"""What a step on CUDA costs, counted by ptxrun: the difference between runs of one step and of four, so that binding does not count.

    counts.py PTXRUN COUNTS [FILE]      prints `figure NAME VALUE` lines, fails when one is over its bound; appends a table to FILE
"""
import json
import os
import subprocess
import sys
import tempfile

ELEMENTS = 1 << 20
RECIPES = ["fp16_adamw_clip", "fp16_adamw", "bf16_stochastic", "float_momentum", "bf16_lion", "fp16_kahan"]


class Counter:
    def __init__(self, ptxrun, program):
        self.command = [ptxrun, program]

    def run(self, *arguments):
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            subprocess.run([*self.command, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "PTXRUN_STATS": report.name})
            return flat(json.load(open(report.name)))

    def a_step(self, recipe, way, elements=ELEMENTS):
        one, four = (self.run(recipe, way, elements, steps) for steps in (1, 4))
        return {name: (four[name] - one[name]) / 3 for name in one}


def flat(report):
    """Counts of the whole process by name."""
    total = dict(report["api"])
    for name in ("thread_instructions", "global_bytes_read", "global_bytes_written", "global_sectors_read", "global_sectors_written"):
        total[name] = sum(kernel[name] for kernel in report["kernels"])
    total["bytes"] = total["global_bytes_read"] + total["global_bytes_written"]
    total["sectors"] = total["global_sectors_read"] + total["global_sectors_written"]
    total["copies"] = total["h2d_calls"] + total["d2h_calls"] + total["d2d_calls"]
    total["local"] = sum(kernel["local_bytes"] for kernel in report["kernels"])
    return total


class Figures:
    def __init__(self):
        self.over = []

    def show(self, name, value, bound):
        print(f"figure {name} {value:.6g}", flush=True)
        if value > bound:
            self.over.append(f"{name} is {value:.6g}, over {bound}")


def main():
    counter, figures = Counter(*sys.argv[1:3]), Figures()
    for recipe in RECIPES:
        subprocess.run([*counter.command, recipe, "compare", "100003", "3"], check=True, stdout=subprocess.DEVNULL)

    step = counter.a_step("fp16_adamw_clip", "composed")
    figures.show("launches", step["kernel_launches"], 2)
    figures.show("host_syncs", step["host_blocking_syncs"], 0)
    figures.show("allocations", step["allocations"], 0)
    figures.show("copies", step["copies"], 0)
    figures.show("bytes_fp16_master_clip", step["bytes"] / ELEMENTS, 30 * 1.01)
    unchecked = counter.a_step("bf16_master_unchecked", "composed")
    figures.show("bytes_fp16_master_unchecked", unchecked["bytes"] / ELEMENTS, 28 * 1.01)
    figures.show("launches_unchecked", unchecked["kernel_launches"], 2)
    figures.show("launches_three_groups", counter.a_step("three_groups", "composed", 10000)["kernel_launches"], 2)

    replay = counter.a_step("fp16_adamw_clip", "graph")
    figures.show("graph_launches", replay["graph_launches"], 1)
    figures.show("direct_launches_of_a_replay", replay["kernel_launches"], 0)
    moved = counter.a_step("fp16_adamw_clip", "moved")
    figures.show("copies_new_gradients", moved["copies"], 1)
    figures.show("host_syncs_new_gradients", moved["host_blocking_syncs"], 0)

    worst, sectors = 0.0, 0.0
    table = ["", "## device", "", "| recipe | bytes a parameter | instructions a parameter, composed | by hand |", "| --- | ---: | ---: | ---: |"]
    for recipe in RECIPES:
        composed, hand = counter.a_step(recipe, "composed"), counter.a_step(recipe, "hand")
        print(f"# {recipe}: {composed['thread_instructions'] / ELEMENTS:.2f} instructions a parameter composed, "
              f"{hand['thread_instructions'] / ELEMENTS:.2f} by hand; {composed['bytes'] / ELEMENTS:.2f} bytes")
        table.append(f"| `{recipe}` | {composed['bytes'] / ELEMENTS:.2f} | {composed['thread_instructions'] / ELEMENTS:.2f} "
                     f"| {hand['thread_instructions'] / ELEMENTS:.2f} |")
        ratio = composed["thread_instructions"] / hand["thread_instructions"]
        print(f"figure overhead_cuda_{recipe} {ratio:.4f}")
        worst = max(worst, ratio)
        sectors = max(sectors, composed["sectors"] * 32 / composed["bytes"])
        figures.show(f"local_bytes_{recipe}", composed["local"], 0)
    figures.show("overhead_max", worst, 1.02)
    figures.show("sector_ratio", sectors, 1.01)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8") as file:
            file.write("\n".join(table) + "\n")
    if figures.over:
        sys.exit("\n".join(figures.over))


if __name__ == "__main__":
    main()
