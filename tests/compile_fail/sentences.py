# SPDX-License-Identifier: Apache-2.0
"""Every sentence that the library can say, read from its sources.

`sentences(root)` yields one record for each string literal that starts with "halfstep: ". Where a message is put together at run
time, "…" stands for each part that is not a literal.
"""

import pathlib
import re
from typing import Iterator, NamedTuple

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[(){};,]|\w+|\S', re.S)


class Sentence(NamedTuple):
    text: str
    file: pathlib.Path
    line: int
    kind: str  # "static_assert", "validate" (compile time and run time), "run_time" or "error_directive"
    begin: int  # offsets of the literals in the file
    end: int


def read_sentences(file: pathlib.Path) -> Iterator[Sentence]:
    source = file.read_text(encoding="utf-8")
    tokens = [t for t in TOKEN.finditer(source) if not t.group().startswith(("//", "/*"))]
    validates = bodies_of_validate(tokens)
    i = 0
    while i < len(tokens):
        if [t.group() for t in tokens[i : i + 3]] == ["refuse", "(", "{"]:
            yield from read_refusal(tokens, i, file, source)
        if not tokens[i].group().startswith('"halfstep: ') or tokens[i].group() == '"halfstep: "' and in_refuse(tokens, i):
            i += 1
            continue
        if [t.group() for t in tokens[i - 2 : i]] == ["#", "error"]:
            text = tokens[i].group()[1:-1]
            yield Sentence(text, file, source.count("\n", 0, tokens[i].start()) + 1, "error_directive", *tokens[i].span())
            i += 1
            continue
        first, depth, text = i, 0, ""
        wrapper = said_by(tokens, i) == "string"  # std::string("halfstep: ") + …
        while depth >= 0 and tokens[i].group() not in (";", ","):
            token = tokens[i].group()
            if token in "({":
                depth += 1
            elif token == ")" and depth == 0 and wrapper:
                wrapper = False
            elif token in ")}":
                depth -= 1
            elif depth == 0 and token.startswith('"'):
                text += token[1:-1]
            elif depth == 0 and token != "+" and not text.endswith("…"):
                text += "…"
            i += 1
        kind = "run_time"
        if said_by(tokens, first) == "static_assert":
            kind = "static_assert"
        elif any(begin < tokens[first].start() < end for begin, end in validates):
            kind = "validate"
        line = source.count("\n", 0, tokens[first].start()) + 1
        yield Sentence(text, file, line, kind, tokens[first].start(), tokens[i - 1].end())


def in_refuse(tokens: list, literal: int) -> bool:
    """Whether the literal is the beginning that `refuse` itself puts before its parts."""
    return "refuse" in [t.group() for t in tokens[max(0, literal - 40) : literal]]


def read_refusal(tokens: list, begin: int, file: pathlib.Path, source: str) -> Iterator[Sentence]:
    """`refuse({"group '", name, "' has …"})` throws the parts as one sentence."""
    i, depth, parts = begin + 3, 0, [[]]
    while depth >= 0:
        token = tokens[i].group()
        depth += (token in "({") - (token in ")}")
        if token == "," and depth == 0:
            parts.append([])
        elif depth >= 0:
            parts[-1].append(token)
        i += 1
    text = "".join(part[0][1:-1] if len(part) == 1 and part[0].startswith('"') else "…" for part in parts)
    line = source.count("\n", 0, tokens[begin].start()) + 1
    yield Sentence("halfstep: " + text, file, line, "run_time", tokens[begin].start(), tokens[i].end())


def said_by(tokens: list, literal: int) -> str:
    """The name before the parenthesis that `literal` stands in."""
    depth = 0
    for i in range(literal - 1, 0, -1):
        token = tokens[i].group()
        depth += (token in ")}") - (token in "({")
        if depth < 0:
            return tokens[i - 1].group()
    return ""


def bodies_of_validate(tokens: list) -> list:
    """Where the member functions `void validate() const` of a file lie."""
    bodies = []
    words = [t.group() for t in tokens]
    for i in range(len(words) - 5):
        if words[i : i + 6] == ["void", "validate", "(", ")", "const", "{"]:
            depth, j = 1, i + 6
            while depth:
                depth += (words[j] == "{") - (words[j] == "}")
                j += 1
            bodies.append((tokens[i].start(), tokens[j - 1].end()))
    return bodies


def sentences(root: pathlib.Path) -> list:
    files = sorted(f for folder in ("include", "policies", "kernels") for f in (root / folder).rglob("*.?pp"))
    files += sorted((root / "kernels").rglob("*.cuh"))
    return [s for f in files for s in read_sentences(f)]
