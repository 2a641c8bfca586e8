#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the C++ in the documentation equal to the tested files that it is cut from.

    snippets.py --check [ROOT]    says what differs, and fails if anything does
    snippets.py --write [ROOT]    writes the snippets and tables into the pages

In a source file under tests/ or examples/:     In a page (README.md, docs/**/*.md):

    // [snippet: name]                              <!-- snippet: tests/docs/file.cpp#name -->
    ...                                             ```cpp
    // [end]                                        ```
                                                    <!-- end -->

Pieces of one name in one file are joined by an empty line. A table stands between `<!-- table: name -->` and
`<!-- end -->`; it is the section `## name` of docs/performance_tables.md, or nothing while that is not there.
"""
import pathlib
import re
import sys
import textwrap

TABLES = "docs/performance_tables.md"
OPEN = re.compile(r"^\s*// \[snippet: ([\w-]+)\]$")
CLOSE = re.compile(r"^\s*// \[end\]$")
BLOCK = re.compile(r"^<!-- (snippet|table): (\S+) -->$")
END = "<!-- end -->"
SOURCES = {".cpp", ".hpp", ".cu", ".cuh"}
FENCE = re.compile(r"^\s*```\s*([\w+]*)")
CPP = {"cpp", "c++", "cxx", "cc", "hpp", "h", "cuda", "cu"}


class Problems(list):
    def add(self, path, line, text):
        self.append(f"{path}:{line}: {text}")


def pieces(path, text, problems):
    """The snippets of a source file by name."""
    found, name, start, lines = {}, None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        opened = OPEN.match(line)
        if "[snippet:" in line and not opened:
            problems.add(path, number, "this mark is not of the form '// [snippet: name]'")
        if opened and name is not None:
            problems.add(path, number, f"snippet '{opened[1]}' starts inside '{name}'")
        if opened:
            name, start, lines = opened[1], number, []
        elif CLOSE.match(line):
            if name is None:
                problems.add(path, number, "'// [end]' without a snippet")
            elif not "".join(lines).strip():
                problems.add(path, start, f"snippet '{name}' is empty")
            else:
                body = textwrap.dedent("\n".join(lines)).strip("\n")
                found[name] = found[name] + "\n\n" + body if name in found else body
            name = None
        elif name is not None:
            lines.append(line)
    if name is not None:
        problems.add(path, start, f"snippet '{name}' has no '// [end]'")
    return found


def sections(text):
    """The sections `## name` of the generated tables."""
    parts = re.split(r"^## (\S+)$", text, flags=re.M)
    return {name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2])}


class Documentation:
    def __init__(self, root):
        self.root, self.problems, self.used, self.shown = root, Problems(), set(), set()
        self.snippets = {}
        for folder in ("tests", "examples"):
            for path in sorted(p for p in (root / folder).rglob("*") if p.suffix in SOURCES):
                found = pieces(path.relative_to(root), path.read_text(), self.problems)
                for name, body in found.items():
                    self.snippets[f"{path.relative_to(root).as_posix()}#{name}"] = body
        tables = root / TABLES
        self.tables = sections(tables.read_text()) if tables.exists() else {}

    def pages(self):
        yield from sorted(self.root.glob("README.md"))
        yield from sorted((self.root / "docs").rglob("*.md"))

    def content(self, kind, what, where):
        """What a block must contain, as lines."""
        if kind == "table":
            self.shown.add(what)
            return self.tables.get(what, "").splitlines()
        self.used.add(what)
        if what not in self.snippets:
            self.problems.add(*where, f"there is no snippet '{what}' under tests/ or examples/")
            return None
        file = self.root / what.split("#")[0]
        lists = file.parent / "CMakeLists.txt"
        if not lists.exists() or not re.search(rf"(?<![\w.]){re.escape(file.name)}\b", lists.read_text()):
            self.problems.add(*where, f"no CMakeLists.txt beside it builds '{what}'")
        return ["```cpp", *self.snippets[what].splitlines(), "```"]

    def render(self, path):
        """The page as it must be; problems of its marks are noted."""
        name, out = path.relative_to(self.root), []
        lines = path.read_text().splitlines()
        number, fenced = 0, False
        while number < len(lines):
            line = lines[number]
            number += 1
            block = None if fenced else BLOCK.match(line)
            out.append(line)
            if block:
                where = (name, number)
                try:
                    end = lines.index(END, number)
                    inner = [i for i in range(number, end) if BLOCK.match(lines[i])]
                except ValueError:
                    end, inner = len(lines), []
                if end == len(lines) or inner:
                    self.problems.add(*where, f"'{END}' is missing")
                    continue
                wanted = self.content(block[1], block[2], where)
                if wanted is None:
                    wanted = lines[number:end]
                elif wanted != lines[number:end]:
                    self.differing.append((where, block[2]))
                out += wanted + [END]
                number = end + 1
                continue
            if line == END and not fenced:
                self.problems.add(name, number, f"'{END}' without a snippet or table")
            if line.startswith("<!--") and re.search(r"snippet|table", line) and not fenced:
                self.problems.add(name, number, "this mark is not of the form '<!-- snippet: file#name -->'")
            fence = FENCE.match(line)
            if fence:
                if not fenced and fence[1].lower() in CPP:
                    self.problems.add(name, number, "C++ that is not cut from a tested file")
                fenced = not fenced
        return "\n".join(out) + "\n"

    def run(self, write):
        for path in self.pages():
            self.differing = []
            text = self.render(path)
            if write and text != path.read_text():
                path.write_text(text)
            elif not write:
                for where, what in self.differing:
                    self.problems.add(*where, f"differs from '{what}'; docs/snippets.py --write brings it over")
        for unused in sorted(set(self.snippets) - self.used):
            self.problems.append(f"{unused}: no page shows this snippet")
        for unused in sorted(set(self.tables) - self.shown):
            self.problems.append(f"{TABLES}: no page shows the section '{unused}'")
        return self.problems


def main(arguments):
    if not arguments or arguments[0] not in ("--check", "--write") or len(arguments) > 2:
        sys.exit(__doc__)
    root = pathlib.Path(arguments[1]) if len(arguments) == 2 else pathlib.Path(__file__).resolve().parent.parent
    problems = Documentation(root).run(write=arguments[0] == "--write")
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
