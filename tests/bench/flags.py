# SPDX-License-Identifier: Apache-2.0
"""What compiler flags bring: one source, one library of bench_library.cpp for each set of flags, the step of each in turn.

    flags.py [--seconds 5] [--markdown FILE] LIBRARY=FLAGS…      FILE is appended to
"""
import argparse

from bench import SIZES, measure
from report import table as markdown_table
from subjects import Library, Tensors

COLUMNS = {"1e4": "10^4", "1e6": "10^6"}


def times(libraries, tensors, size, seconds):
    gradients = tensors.make(SIZES[size], "fp16", 16.0)
    subjects = {flags: Library(path).subject("fp16_step", 1, tensors.make(SIZES[size], "fp16", 0.02), gradients)
                for flags, path in libraries.items()}
    rounds = measure({flags: s.run for flags, s in subjects.items()}, sum(SIZES[size]), 1, seconds)
    for subject in subjects.values():
        subject.close()
    return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY=FLAGS")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--markdown")
    options = parser.parse_args()
    libraries = {flags: path for path, flags in (pair.split("=", 1) for pair in options.libraries)}
    first = next(iter(libraries))
    rounds = {size: times(libraries, Tensors(None), size, options.seconds) for size in COLUMNS}
    head = ["fp16 step, one thread: nanoseconds a parameter, and over the first line"] + list(COLUMNS.values())
    rows = [[f"`{flags}`"] + [f"{rounds[size].nanoseconds(flags):.3g} ({rounds[size].ratio(flags, first):.2f})" for size in COLUMNS]
            for flags in libraries]
    text = "## flags\n\n" + markdown_table(head, rows)
    print("\n" + text)
    if options.markdown:
        with open(options.markdown, "a", encoding="utf-8") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
