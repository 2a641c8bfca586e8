#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gathers what tests/device.sh left into one JSON file, and prints a summary: device_report.py FOLDER REPORT

FOLDER holds, each of them optional: device.txt (KEY VALUE lines), parts.txt (PART STATUS SECONDS), ctest.log, bench.log, peers.log and
sanitize_TOOL.log.
"""
import json
import pathlib
import re
import sys

TEST = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.+\**\s*(\w[\w ]*?)\s+([\d.]+) sec")
FIGURE = re.compile(r"figure (\S+) (\S+)")


def lines_of(folder, name):
    path = folder / name
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def number(text):
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def tests(lines):
    found = [match.groups() for match in map(TEST.match, lines) if match]
    return [{"name": name, "result": result.strip("*").lower(), "seconds": float(seconds)} for name, result, seconds in found]


def bench(lines):
    result = {"copy_bytes_a_second": None, "steps": [], "left_out": [line[2:] for line in lines if line.startswith("# ")]}
    names = ("recipe", "parameters", "bytes_a_parameter", "launches", "ps_launched", "ps_replayed", "share_of_copy")
    for words in (line.split() for line in lines):
        if words[:1] == ["copy"]:
            result["copy_bytes_a_second"] = number(words[1])
        elif words[:1] == ["step"] and len(words) == len(names) + 1:
            result["steps"].append(dict(zip(names, [words[1], *map(number, words[2:])])))
    return result


def peers(lines):
    rows = [line.split() for line in lines if line.startswith("peer ")]
    return {"steps": [{"peer": r[1], "parameters": int(r[2]), "ps_a_parameter": float(r[3])} for r in rows],
            "notes": [line[2:] for line in lines if line.startswith("# ")]}


def sanitizer(folder):
    found = {}
    for path in sorted(folder.glob("sanitize_*.log")):
        summary = [line for line in lines_of(folder, path.name) if "ERROR SUMMARY" in line or "RACECHECK SUMMARY" in line]
        found[path.stem.removeprefix("sanitize_")] = summary[-1].strip("= ") if summary else "no summary"
    return found


def report_of(folder):
    parts = {p[0]: {"status": p[1], "seconds": float(p[2])} for p in (line.split() for line in lines_of(folder, "parts.txt"))}
    ctest = lines_of(folder, "ctest.log")
    return {
        "device": dict(line.split(" ", 1) for line in lines_of(folder, "device.txt") if " " in line),
        "parts": parts,
        "tests": tests(ctest),
        "figures": {m[1]: number(m[2]) for m in map(FIGURE.search, ctest) if m},
        "sanitizer": sanitizer(folder),
        "bench": bench(lines_of(folder, "bench.log")),
        "peers": peers(lines_of(folder, "peers.log")),
    }


def summary(report):
    yield f"{report['device'].get('name', 'no device')}"
    for name, part in report["parts"].items():
        yield f"  {name:<20} {part['status']:<8} {part['seconds']:7.0f} s"
    for row in report["bench"]["steps"]:
        yield (f"  {row['recipe']:<24} {row['parameters']:>12}  {row['ps_launched']:>9} ps  {row['ps_replayed']:>9} ps replayed  "
               f"{row['share_of_copy']:.2f} of a copy  {row['launches']} launches")
    for row in report["peers"]["steps"]:
        yield f"  {row['peer']:<24} {row['parameters']:>12}  {row['ps_a_parameter']:>9} ps"


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    report = report_of(pathlib.Path(arguments[0]))
    pathlib.Path(arguments[1]).write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(summary(report)))


if __name__ == "__main__":
    main(sys.argv[1:])
