#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the relative links and the anchors of all pages: links.py ROOT."""
import pathlib
import re
import sys
import urllib.parse

SKIPPED = {"build", "out", "node_modules", "__pycache__"}
INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.M)
HTML = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=\"([^\"]+)\"")


def pages(root):
    for path in sorted(root.rglob("*.md")):
        folders = path.relative_to(root).parts[:-1]
        if not any(f in SKIPPED or f.startswith((".", "build")) for f in folders):
            yield path


def prose(text):
    """The text without code blocks; line numbers stay."""
    out, fence = [], None
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark[1]
            out.append("")
        elif fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
            out.append("")
        else:
            out.append(line)
    return "\n".join(out)


def without_code(text):
    return re.sub(r"(`+)(?:(?!\1).)*?\1", "", text)


def anchors(text):
    """Anchors of a page as GitHub makes them from headings, and those that it names itself."""
    found, seen = set(), {}
    for line in prose(text).splitlines():
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*\s*$", line)
        if heading:
            words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            words = re.sub(r"<[^>]+>", "", words) if "`" not in words else words
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        found.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line))
    return found


def targets(text):
    text = without_code(prose(text))
    for pattern in (INLINE, DEFINITION, HTML):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[1]


def problems(root):
    known = {}
    for page in pages(root):
        for line, target in targets(page.read_text()):
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):  # another site
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            where = f"{page.relative_to(root)}:{line}: "
            if path.startswith("/") or not file.is_relative_to(root):
                yield where + f"'{target}' leads out of the repository"
            elif not file.exists():
                yield where + f"'{target}' does not exist"
            elif anchor:
                if file.suffix != ".md":
                    yield where + f"'{target}': anchors are checked in pages only"
                    continue
                if file not in known:
                    known[file] = anchors(file.read_text())
                if anchor not in known[file]:
                    yield where + f"'{target}': no such anchor"


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
