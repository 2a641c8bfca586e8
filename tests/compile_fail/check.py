#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles refused uses of the library and looks at what the compiler says.

    check.py prelude DIR COMPILER            precompiles the library's header into DIR; worth it before many cases
    check.py cases COMPILER [DIR] SOURCE…    compiles every case of each source
    check.py all                             both, for every source here and every compiler found
    check.py compilers                       those: g++, clang++ from 16 on, nvcc

A source names its cases as `// case N: sentence`, and has the N-th mistake where HALFSTEP_CASE is N. Case 0 has none and must compile.
The others must not: the sentence stands within the first 15 lines of the output, and there are at most two errors.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINES = 15
ERRORS = 2
WARNINGS = ["-Wall", "-Wextra", "-Wconversion"]


class Compiler(NamedTuple):
    path: str
    kind: str  # "g++", "clang++" or "nvcc"

    def command(self, root: pathlib.Path, prelude: Optional[pathlib.Path]) -> list:
        includes = [f"-I{root / folder}" for folder in ("include", "policies", "kernels")]
        if self.kind == "nvcc":
            return [self.path, "-std=c++20", "--expt-relaxed-constexpr", *includes, "-x", "cu", "-c", "-o", os.devnull]
        command = [self.path, "-std=c++20", *WARNINGS, *includes, "-fsyntax-only"]
        if prelude and self.kind == "g++":
            command += ["-include", str(prelude / "prelude.hpp")]
        elif prelude:
            command += ["-include-pch", str(prelude / "prelude.hpp.pch")]
        return command


def compiler(path: str) -> Compiler:
    if pathlib.Path(path).name.startswith("nvcc"):
        return Compiler(path, "nvcc")
    macros = subprocess.run([path, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, check=True).stdout
    return Compiler(path, "clang++" if "__clang__" in macros else "g++")


def compilers_found() -> list:
    names = ["g++", *(f"clang++-{version}" for version in range(16, 30)), "clang++", "nvcc", "/usr/local/cuda/bin/nvcc"]
    found = {}
    for name in names:
        path = shutil.which(name)
        if path is None or os.path.realpath(path) in found:
            continue
        if name == "clang++" and clang_version(path) < 16:
            continue
        found[os.path.realpath(path)] = compiler(path)
    return list(found.values())


def clang_version(path: str) -> int:
    return int(subprocess.run([path, "-dumpversion"], capture_output=True, text=True).stdout.split(".")[0])


def build_prelude(c: Compiler, folder: pathlib.Path, root: pathlib.Path = ROOT) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / "prelude.hpp"
    header.write_text("#include <halfstep/halfstep.hpp>\n")
    if c.kind == "nvcc":
        return
    command = [word for word in c.command(root, None) if word != "-fsyntax-only"]
    out = header.with_suffix(".hpp.gch" if c.kind == "g++" else ".hpp.pch")
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", str(out)], check=True)


def cases_of(source: pathlib.Path) -> dict:
    text = source.read_text(encoding="utf-8")
    cases = {int(n): sentence for n, sentence in re.findall(r"^// case (\d+): (.*)$", text, re.M)}
    if sorted(cases) != list(range(1, len(cases) + 1)):
        sys.exit(f"{source}: cases are numbered 1, 2, 3, … without a gap, got {sorted(cases)}")
    return {0: "", **cases}


def fault_of(c: Compiler, source: pathlib.Path, case: int, sentence: str, prelude=None, root: pathlib.Path = ROOT) -> str:
    """What is wrong with how case `case` is refused; empty when nothing is."""
    command = [*c.command(root, prelude), f"-DHALFSTEP_CASE={case}", str(source)]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)
    errors = len(re.findall(r"\b(?:fatal )?error(?: #\d+)?: ", done.stdout))
    if case == 0:
        fault = "" if done.returncode == 0 and not done.stdout else "the control case must compile in silence"
    elif done.returncode == 0:
        fault = "was compiled"
    elif sentence not in "\n".join(done.stdout.split("\n")[:LINES]):
        fault = f"was refused without its sentence within {LINES} lines"
    elif errors > ERRORS:
        fault = f"was refused with {errors} errors"
    else:
        fault = ""
    if not fault:
        return ""
    said = "\n".join(line[:300] for line in done.stdout.split("\n")[:60])
    return f"{c.path}: {source.name}, case {case} {fault}\n  wanted: {sentence}\n{said}\n  {' '.join(command)}\n"


def check(c: Compiler, sources: list, prelude=None) -> bool:
    good = True
    for source in sources:
        cases = cases_of(source)
        for case, sentence in cases.items():
            fault = fault_of(c, source, case, sentence, prelude)
            good = good and not fault
            if fault:
                print(fault, flush=True)
        print(f"{c.path}: {source.name}: {len(cases)} cases", flush=True)
    return good


def main(arguments: list) -> int:
    if arguments[:1] == ["prelude"] and len(arguments) == 3:
        build_prelude(compiler(arguments[2]), pathlib.Path(arguments[1]))
        return 0
    if arguments[:1] == ["cases"] and len(arguments) >= 3:
        paths = [pathlib.Path(a) for a in arguments[2:]]
        prelude = paths.pop(0) if paths[0].is_dir() else None
        return 0 if check(compiler(arguments[1]), paths, prelude) else 1
    if arguments == ["compilers"]:
        print("\n".join(c.path for c in compilers_found()))
        return 0
    if arguments == ["all"]:
        good = True
        with tempfile.TemporaryDirectory() as folder:
            for i, c in enumerate(compilers_found()):
                prelude = pathlib.Path(folder) / str(i)
                build_prelude(c, prelude)
                sources = [*HERE.glob("*.cpp"), *(HERE.glob("*.cu") if c.kind == "nvcc" else [])]
                good = check(c, sorted(sources), prelude) and good
        return 0 if good else 1
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
