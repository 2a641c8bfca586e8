#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/combinations.md has the rules of compose/compatibility.hpp, sentence for sentence, in their order: combinations.py ROOT."""
import pathlib
import re
import sys


def sentences_of_code(text):
    """The sentences of the static_asserts, in order."""
    found = []
    for literals in re.findall(r'static_assert\([^"]*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', text):
        sentence = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))
        found.append(sentence.replace('\\"', '"').removeprefix("halfstep: "))
    return found


def sentences_of_page(text):
    """The last cell of each numbered row."""
    return [row.rstrip(" |").rsplit(" | ", 1)[1] for row in text.splitlines() if re.match(r"\| \d+ \| ", row)]


def plain(sentence):
    """Without markup: `name` and [text](link) read as their text."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence.replace("`", "")).strip()


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    code = sentences_of_code((root / "include/halfstep/compose/compatibility.hpp").read_text())
    page = [plain(s) for s in sentences_of_page((root / "docs/combinations.md").read_text())]
    for number in range(max(len(code), len(page))):
        ours = code[number] if number < len(code) else "(none)"
        theirs = page[number] if number < len(page) else "(none)"
        if ours != theirs:
            sys.exit(f"rule {number + 1}\n  compatibility.hpp: {ours}\n  combinations.md:   {theirs}")
    if not code:
        sys.exit("no rule found in compatibility.hpp")
