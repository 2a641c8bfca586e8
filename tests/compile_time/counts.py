#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what steps.cpp makes a compiler do, and compares with counts.txt: the same on every machine, as seconds are not.

    counts.py COMPILER            fails where a count is more than TOLERANCE above the one written down
    counts.py --write COMPILER…   writes them down

Of g++, the functions of the library in an object of -O0; of clang, the classes and functions of the library that it instantiates.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from compile import HERE, STEPS, compiled

WRITTEN = HERE / "counts.txt"
TOLERANCE = 0.03  # other versions of a compiler and of its library differ by less


def functions(compiler: str, steps: int, folder: pathlib.Path) -> dict:
    out = folder / "steps.o"
    compiled(compiler, steps, "-O0", "-o", str(out))
    symbols = subprocess.run(["nm", "--defined-only", str(out)], capture_output=True, text=True, check=True).stdout
    return {"functions": len(re.findall(r"^\S+ [TtWw] _ZN[KVRO]*8halfstep", symbols, re.M))}


def instantiations(compiler: str, steps: int, folder: pathlib.Path) -> dict:
    trace = folder / "steps.json"
    compiled(compiler, steps, "-O0", "-o", str(folder / "steps.o"), f"-ftime-trace={trace}", "-ftime-trace-granularity=0")
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    ours = [e["name"] for e in events if e.get("args", {}).get("detail", "").startswith("halfstep::")]
    return {"classes": ours.count("InstantiateClass"), "functions": ours.count("InstantiateFunction")}


def counts(compiler: str) -> dict:
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True).stdout
    kind, count = ("clang", instantiations) if "__clang__" in macros else ("g++", functions)
    with tempfile.TemporaryDirectory() as folder:
        first, all_steps = (count(compiler, steps, pathlib.Path(folder)) for steps in (1, STEPS))
    result = {}
    for what, number in first.items():
        result[f"{kind} {what} first"] = number
        result[f"{kind} {what} further"] = round((all_steps[what] - number) / (STEPS - 1))
    return result


def main(arguments: list) -> int:
    if arguments[:1] == ["--write"]:
        lines = [f"{name} {number}" for compiler in arguments[1:] for name, number in counts(compiler).items()]
        WRITTEN.write_text("# counts.py --write\n" + "\n".join(lines) + "\n", encoding="utf-8")
        return 0
    written = dict(line.rsplit(" ", 1) for line in WRITTEN.read_text(encoding="utf-8").split("\n") if line and line[0] != "#")
    good = True
    for name, number in counts(arguments[0]).items():
        allowed = int(int(written[name]) * (1 + TOLERANCE))
        good = good and number <= allowed
        print(f"{name}: {number}, written down {written[name]}" + ("" if number <= allowed else ", TOO MANY: see docs/performance.md"))
    return 0 if good else 1


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
