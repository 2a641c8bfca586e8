# SPDX-License-Identifier: Apache-2.0
"""Times composed steps beside a hand-written one, the peers' and the memory-only loop, interleaved in one process.

    bench.py LIBRARY [--sizes 1e4,1e6,1e8,tiny] [--threads 1,2] [--seconds 20] [--markdown FILE]

A round times every step in turn, ours and the hand-written one right behind the memory-only loop over the same streams. Every ratio is the
median of the ratios within a round, so that what other guests of the machine do meanwhile cancels out. `figure NAME VALUE` lines, then tables; `--sizes` and `--threads` leave out what
needs the others.
"""
import argparse
import gc
import os
import statistics
import sys
import time

if hasattr(os, "RTLD_LAZY"):
    sys.setdlopenflags(os.RTLD_LAZY)  # a CUDA build of torch loads without CUDA's libraries where functions are looked up late

import peers
import report
from subjects import Library, Tensors

SIZES = {"1e4": [10_000], "1e6": [1_000_000], "1e8": [100_000_000], "tiny": [100] * 10_000}
ROOF_BYTES, STEP_BYTES = 28, 30
WARM_UP = 4


def seconds_of(run, repeats):
    start = time.perf_counter()
    run(repeats)
    return (time.perf_counter() - start) / repeats


def seconds_again(run, repeats):
    """Where streams fit a cache, behind untimed runs: only the fourth run finds all of its own there, and none of what ran before."""
    if repeats > 1:
        run(WARM_UP)
    return seconds_of(run, repeats)


def looped(step):
    def run(repeats):
        for _ in range(repeats):
            step()
    return run


def settle(threads):
    """Idle threads of one OpenMP runtime spin for a while and take a processor from the next one's."""
    if threads > 1:
        time.sleep(0.02)


class Rounds:
    """What a set of steps took, round by round."""

    def __init__(self, elements):
        self.elements, self.seconds, self.roof = elements, {}, {}

    def add(self, name, seconds, roof=None):
        self.seconds.setdefault(name, []).append(seconds)
        if roof is not None:
            self.roof.setdefault(name, []).append(roof)

    def nanoseconds(self, name):
        return statistics.median(self.seconds[name]) / self.elements * 1e9

    def best(self, name):
        return min(self.seconds[name]) / self.elements * 1e9

    def ratio(self, name, other):
        """Time of `name` over that of `other`."""
        return statistics.median(a / b for a, b in zip(self.seconds[name], self.seconds[other]))

    def roof_share(self, name):
        """Bytes a second of the step `name` over those of the memory-only loop over its streams."""
        return statistics.median(r / ROOF_BYTES / (s / STEP_BYTES) for r, s in zip(self.roof[name], self.seconds[name]))


def measure(steps, elements, threads, seconds, roofs=None):
    """`steps` and `roofs`: functions of a number of repeats by name, the latter for some of the former."""
    rounds, roofs = Rounds(elements), roofs or {}
    repeats = max(1, 2_000_000 // elements)
    for run in steps.values():
        run(2)
    end = time.perf_counter() + seconds
    done = 0
    while time.perf_counter() < end or done < 5:
        done += 1
        for name, run in steps.items():
            settle(threads)
            roof = seconds_again(roofs[name], repeats) if name in roofs else None
            rounds.add(name, seconds_again(run, repeats), roof)
    return rounds


def steps_of(size, threads, library, tensors, skipped):
    """The steps of the fp16 comparison by name, the memory-only loops of some, and what to close after."""
    sizes, torch = SIZES[size], tensors.torch
    gradients = tensors.make(sizes, "fp16", 16.0)  # with the loss scale: norms below and above the bound
    new = lambda: tensors.make(sizes, "fp16", 0.02)
    subjects = {"ours": library.subject("fp16_step", threads, new(), gradients),
                "hand": library.subject("hand", threads, new(), gradients)}
    if threads > 1 and size == "1e8":
        subjects["ours on one thread"] = library.subject("fp16_step", 1, new(), gradients)
    steps = {name: subject.run for name, subject in subjects.items()}
    roofs = {name: subjects[name].run_roof for name in ("ours", "hand")}
    for name, make in peers.STEPS.items():
        if torch is None:
            skipped.setdefault(name, "no torch")
        elif name not in skipped:
            try:
                step = make(torch, gradients, new())
                step()
                steps[name] = looped(step)
            except Exception as error:  # whatever an absent or broken peer raises: it is left out, and said so
                skipped[name] = reason_of(error)
    return steps, roofs, list(subjects.values())


def require_agreement(library, tensors, skipped):
    """What is timed computes the same: five steps, tensors with and without a remainder."""
    sizes = [4096, 1000, 37, 5]
    gradients = tensors.make(sizes, "fp16", 16.0)
    new = lambda: tensors.make(sizes, "fp16", 0.02)
    results = {name: new() for name in ("fp16_step", "hand")}
    for name, parameters in results.items():
        subject = library.subject(name, 1, parameters, gradients)
        subject.run(5)
        subject.close()
    if tensors.torch is not None:
        for name in ("torch", "deepspeed"):
            try:
                results[name] = new()
                step = peers.STEPS[name](tensors.torch, gradients, results[name])
            except Exception as error:  # whatever an absent or broken peer raises: it is left out, and said so
                skipped[name] = reason_of(error)
                del results[name]
                continue
            looped(step)(5)
    values = {name: [float(x) for tensor in parameters for x in tensor] for name, parameters in results.items()}
    ours, start = values.pop("fp16_step"), [float(x) for tensor in new() for x in tensor]
    if max(abs(a - b) for a, b in zip(ours, start)) < 4e-4:
        raise RuntimeError("five steps at 1e-4 hardly moved the parameters")
    for name, theirs in values.items():
        worst = max(abs(a - b) - abs(a) / 1024 for a, b in zip(ours, theirs))  # a unit in the last place of fp16
        if worst > 1e-6:
            raise RuntimeError(f"{name} computes something else: parameters differ by {worst}")


def reason_of(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120] if str(error).strip() else ''}"


def compare(size, threads, library, tensors, seconds, skipped):
    if tensors.torch is not None:
        tensors.torch.set_num_threads(threads)
    steps, roofs, subjects = steps_of(size, threads, library, tensors, skipped)
    rounds = measure(steps, sum(SIZES[size]), threads, seconds, roofs)
    steps.clear()
    for subject in subjects:
        subject.close()
    gc.collect()
    return rounds


def compare_rounding(size, library, tensors, seconds):
    sizes = SIZES[size]
    gradients = tensors.make(sizes, "bf16", 1e-3)
    subjects = {name: library.subject(name, 1, tensors.make(sizes, "bf16", 0.02), gradients)
                for name in ("bf16_nearest", "bf16_stochastic")}
    rounds = measure({name: s.run for name, s in subjects.items()}, sum(sizes), 1, seconds)
    for subject in subjects.values():
        subject.close()
    gc.collect()
    return rounds


def compare_denormal(library, tensors, seconds):
    """Parameters whose gradient has been zero for long. The first step still meets the subnormal moments that are set here; it stores them as
    zero, so the following ones do not."""
    sizes = SIZES["1e6"]
    gradients = tensors.make(sizes, "float", 0.0)
    moments = {"normal": (1e-3, 1e-6), "denormal": (1e-39, 1.1e-38)}
    subjects = {name: library.subject("float_adamw", 1, tensors.make(sizes, "float", 0.02), gradients) for name in moments}
    first, later = Rounds(sum(sizes)), Rounds(sum(sizes))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(first.seconds["normal"]) < 5:
        for name, subject in subjects.items():
            subject.set_moments(*moments[name])
            first.add(name, seconds_of(subject.run, 1))
            later.add(name, seconds_again(subject.run, 4))
    for subject in subjects.values():
        subject.close()
    return first, later


def figures_of(step_rounds, rounding, denormal):
    """Name and value of every figure that was measured."""
    figures = {}
    for (size, threads), rounds in step_rounds.items():
        suffix = f"{size}_t{threads}"
        figures[f"ns_{suffix}"] = rounds.nanoseconds("ours")
        figures[f"roof_share_{suffix}"] = rounds.roof_share("ours")
        figures[f"vs_hand_{suffix}"] = rounds.ratio("ours", "hand")
        for peer in ("torch_fused", "torch", "deepspeed"):
            if peer in rounds.seconds:
                figures[f"vs_{peer}_{suffix}"] = rounds.ratio(peer, "ours")
        if threads == 1 and size in ("1e4", "tiny") and "torch" in rounds.seconds:
            figures[f"vs_torch_{size}"] = figures[f"vs_torch_{suffix}"]
        if threads == 1 and size == "tiny":
            figures["ns_per_tiny_tensor"] = statistics.median(rounds.seconds["ours"]) / len(SIZES["tiny"]) * 1e9
        if "ours on one thread" in rounds.seconds:
            figures["threads2_over_1"] = rounds.ratio("ours on one thread", "ours")
    for size, rounds in rounding.items():
        figures[f"stochastic_over_nearest_{size}"] = rounds.ratio("bf16_stochastic", "bf16_nearest")
        figures["stochastic_over_nearest"] = figures[f"stochastic_over_nearest_{size}"]  # the largest size, which is last
    if denormal:
        first, later = denormal
        figures["denormal_over_normal"] = later.ratio("denormal", "normal")
        figures["denormal_first_over_normal"] = first.ratio("denormal", "normal")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--sizes", default="1e4,1e6,tiny,1e8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=20, help="for each size and number of threads; at least 5 rounds")
    parser.add_argument("--markdown", help="file to write the tables to")
    options = parser.parse_args()
    sizes, threads = options.sizes.split(","), [int(t) for t in options.threads.split(",")]

    torch = peers.import_torch()
    library, tensors, skipped = Library(options.library), Tensors(torch), {}
    require_agreement(library, tensors, skipped)
    step_rounds, rounding = {}, {}
    for size in sizes:
        for count in threads:
            print(f"# {size}, threads: {count}", flush=True)
            step_rounds[size, count] = compare(size, count, library, tensors, options.seconds, skipped)
    print("# rounding, subnormal moments", flush=True)
    for size in sizes:
        if size in ("1e6", "1e8"):
            rounding[size] = compare_rounding(size, library, tensors, options.seconds / 2)
    denormal = compare_denormal(library, tensors, options.seconds / 4) if "1e6" in sizes else None

    for name, reason in skipped.items():
        print(f"# left out: {name}: {reason}")
    figures = figures_of(step_rounds, rounding, denormal)
    for name, value in figures.items():
        print(f"figure {name} {value:.4g}")
    tables = report.tables(step_rounds, figures, skipped, report.versions(torch, skipped))
    print("\n" + tables)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(tables)


if __name__ == "__main__":
    main()
