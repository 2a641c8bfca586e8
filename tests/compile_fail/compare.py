#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the library says with what is tested and with what docs/errors.md explains, in both directions."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
from check import HERE, ROOT, cases_of
from sentences import sentences

ENTRY = re.compile(r"^### (?P<anchor>.*)\n\n> `(?P<sentence>.*)`\n\n(?P<text>(?:(?!^#).*\n)*)", re.M)


def faults_of_sources(said: list) -> list:
    """A compiler shows the line of a throw, and not every terminal shows more than ASCII."""
    faults = []
    for s in said:
        where = f"{s.file.relative_to(ROOT)}:{s.line}"
        if s.kind != "run_time" and not s.text.isascii():
            faults.append(f"{where}: a sentence that compilers print is ASCII: {s.text}")
        if s.kind == "validate":
            line = s.file.read_text(encoding="utf-8").split("\n")[s.line - 1]
            if not re.search(r'throw std::invalid_argument\("[^"]*"\);$', line):
                faults.append(f"{where}: the throw in a validate() stands in one line with its sentence")
    return faults


def faults_of_cases(said: list) -> list:
    compile_time = {s.text for s in said if s.kind in ("static_assert", "validate")}
    tested = {sentence for source in (*HERE.glob("*.cpp"), *HERE.glob("*.cu")) for sentence in cases_of(source).values() if sentence}
    return [f"no case in tests/compile_fail is refused with: {text}" for text in sorted(compile_time - tested)] + [
        f"a case expects what the library never says: {text}" for text in sorted(tested - compile_time)
    ]


def faults_of_page(said: list) -> list:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    entries = [m.groupdict() for m in ENTRY.finditer(page)]
    faults = []
    if len(entries) != page.count("\n### "):
        faults.append("docs/errors.md: an entry is '### anchor', an empty line, '> `sentence`', an empty line, text")
    anchors = [e["anchor"] for e in entries]
    faults += [f"docs/errors.md: two entries '{a}'" for a in sorted(set(anchors)) if anchors.count(a) > 1]
    faults += [f"docs/errors.md: '{a}' is no anchor: lower case, digits and hyphens" for a in anchors if not re.fullmatch(r"[a-z0-9-]+", a)]
    for e in entries:
        if not ("**Cause.**" in e["text"] and "**Fix.**" in e["text"]):
            faults.append(f"docs/errors.md: '{e['anchor']}' has no cause, or no fix")
    in_page = [e["sentence"] for e in entries]
    in_sources = {s.text for s in said}
    faults += [f"docs/errors.md explains twice: {text}" for text in sorted(set(in_page)) if in_page.count(text) > 1]
    faults += [f"docs/errors.md does not explain: {text}" for text in sorted(in_sources - set(in_page))]
    faults += [f"docs/errors.md explains what the library never says: {text}" for text in sorted(set(in_page) - in_sources)]
    return faults


def main() -> int:
    said = sentences(ROOT)
    faults = faults_of_sources(said) + faults_of_cases(said) + faults_of_page(said)
    print("\n".join(faults) if faults else f"{len({s.text for s in said})} sentences, each explained; those of the compiler tested")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
