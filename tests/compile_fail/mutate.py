#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the rules away one at a time, in a copy of the library, and shows that a case of this folder then fails.

    mutate.py COMPILER [TEXT]     only mutants whose description contains TEXT
    HALFSTEP_JOBS=n               compilations side by side; default: one a processor

Taken away are each static_assert and each throw of a validate(), and each predicate that a sentence hangs on: the rows of the
table of compatibility, and the named requirements of the concepts. Prints the mutants that live; each is a hole in the tests.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import tempfile
import threading
from typing import NamedTuple

sys.dont_write_bytecode = True
from check import HERE, ROOT, cases_of, compiler, fault_of
from sentences import sentences

FOLDERS = ("include", "policies", "kernels")


class Mutant(NamedTuple):
    description: str
    file: pathlib.Path  # in the library
    text: str  # of the file, mutated
    sentences: list  # a case of one of these has to fail, or a control case of the same sources; the likely ones first


def without_sentence(s) -> str:
    text = s.file.read_text(encoding="utf-8")
    if s.kind == "validate":
        begin = text.rindex("throw ", 0, s.begin)
        return text[:begin] + "{}" + text[text.index(";", s.begin) + 1 :]
    begin = text.rindex("static_assert(", 0, s.begin)
    return f"{text[:begin]}static_assert(true, {text[s.begin:]}"


def end_of_declaration(text: str, begin: int) -> int:
    """Where the semicolon outside of all braces is."""
    depth = 0
    for i in range(begin, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if text[i] == ";" and depth == 0:
            return i
    raise ValueError("a declaration without an end")


def mutants() -> list:
    said = [s for s in sentences(ROOT) if s.kind in ("static_assert", "validate")]
    found = [Mutant(f"{s.file.relative_to(ROOT)}:{s.line}: {s.text}", s.file, without_sentence(s), [s.text]) for s in said]
    for file in sorted({s.file for s in said if s.kind == "static_assert"}):
        text = file.read_text(encoding="utf-8")
        # Those of its own file first; what another file says may hang on the predicate as well.
        there = [s.text for s in said if s.file == file] + [s.text for s in said if s.file != file]
        for namespace in re.finditer(r"^namespace (compatibility|well_formed|bindable|\w+_needs) \{\n(.*?)^\}  // namespace", text, re.M | re.S):
            for m in re.finditer(r"^(?:concept|inline constexpr bool) (\w+)(?:<[^=;{]*>)? =", namespace.group(2), re.M):
                begin = namespace.start(2) + m.end()
                end = end_of_declaration(text, begin)
                if text[begin:end].strip() == "false":
                    continue  # what a specialization replaces
                found.append(Mutant(f"{file.relative_to(ROOT)}: {m.group(1)}", file, f"{text[:begin]} true{text[end:]}", there))
    return found


def main(arguments: list) -> int:
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    c = compiler(arguments[0])
    cases = {}  # sentence: [(source, case)]
    for source in sorted(HERE.glob("*.cpp")):
        for case, sentence in cases_of(source).items():
            cases.setdefault(sentence, []).append((source, case))
    trees = threading.local()

    def lives(mutant: Mutant) -> bool:
        if not hasattr(trees, "root"):
            trees.root = pathlib.Path(tempfile.mkdtemp(dir=everything))
            for folder in FOLDERS:
                shutil.copytree(ROOT / folder, trees.root / folder)
        copy = trees.root / mutant.file.relative_to(ROOT)
        copy.write_text(mutant.text, encoding="utf-8")
        refused = [(source, case, sentence) for sentence in mutant.sentences for source, case in cases[sentence]]
        control = [(source, 0, "") for source in sorted({source for source, _, _ in refused})]
        killed = any(fault_of(c, source, case, sentence, root=trees.root) for source, case, sentence in refused + control)
        shutil.copy(mutant.file, copy)
        return not killed

    jobs = int(os.environ.get("HALFSTEP_JOBS") or os.cpu_count())
    with tempfile.TemporaryDirectory() as everything, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        wanted = [m for m in mutants() if arguments[1:] == [] or arguments[1] in m.description]
        alive = [m.description for m, lived in zip(wanted, pool.map(lives, wanted)) if lived]
    print("\n".join(f"lives: {description}" for description in alive))
    print(f"{len(wanted) - len(alive)} of {len(wanted)} mutants are killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
