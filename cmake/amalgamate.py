#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes halfstep as one header: amalgamate.py OUTPUT [HEADER…]

HEADER defaults to <halfstep/halfstep.hpp>. Every include of a halfstep header is replaced by its text, at its first place; all other
includes stay, once each where no condition surrounds them.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
include = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
condition = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")


def find(name):
    for folder in ("include", "policies", "kernels"):
        if (root / folder / name).is_file():
            return root / folder / name
    sys.exit(f"amalgamate.py: there is no header <{name}>")


def lines_of(name, seen, system):
    """The lines of one header and of those that it includes and `seen` lacks."""
    depth = 0
    yield f"// <{name}>"
    for line in find(name).read_text().splitlines():
        if match := condition.match(line):
            depth += -1 if match[1] == "endif" else 1
        match = include.match(line)
        if match and match[2].startswith("halfstep/"):
            if depth > 0:
                sys.exit(f"amalgamate.py: <{name}> includes <{match[2]}> under a condition")
            if match[2] not in seen:
                seen.add(match[2])
                yield from lines_of(match[2], seen, system)
        elif match and depth == 0:
            if match[2] not in system:
                system.add(match[2])
                yield line
        elif line.strip() != "#pragma once" and "SPDX-License-Identifier" not in line:
            yield line


def main():
    output, *headers = sys.argv[1:]
    seen, system = set(), set()
    text = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// halfstep in one header, made from its tree by cmake/amalgamate.py.",
        "#pragma once",
        "#if defined(HALFSTEP_VERSION_MAJOR)",
        '#error "halfstep: include the single header or those of the tree, not both"',
        "#endif",
    ]
    for header in headers or ["halfstep/halfstep.hpp"]:
        seen.add(header)
        text += lines_of(header, seen, system)
    path = pathlib.Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Empty lines that removed ones leave behind.
    path.write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(text)) + "\n")


main()
