# SPDX-License-Identifier: Apache-2.0
"""Writes a trace: lines of words, in which every bit of every number is kept.

    package torch 2.15.0          what it was recorded with
    data NAME 32:3f800000…        an array that several cases use, called @NAME there
    case NAME                     starts a case; the lines up to the first `step` are its settings
    step NUMBER                   starts a step of the case
    final                         starts what is left after the last step
    KEY VALUE…                    anything else: integers, words, numbers as hexadecimal floats, arrays as the bits of
                                  their elements in hexadecimal, 32: or 16: says how many each has; none where there is none
"""
import importlib.metadata
import pathlib
import platform
import re

import torch

FOLDER = pathlib.Path(__file__).parent.parent / "traces"


def bits(tensor):
    """The bits of a tensor's elements, in order."""
    flat = tensor.detach().reshape(-1)
    width, view = (32, torch.int32) if flat.dtype in (torch.float32, torch.int32) else (16, torch.int16)
    mask = (1 << width) - 1
    return f"{width}:" + "".join(f"{int(x) & mask:0{width // 4}x}" for x in flat.view(view))


def word(value):
    if value is None:
        return "none"
    if isinstance(value, torch.Tensor):
        return bits(value)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return re.sub(r"\.?0*p", "p", value.hex())
    return str(value)


class Trace:
    def __init__(self, name, *packages):
        self.name = name
        self.lines = ["# Recorded by tests/oracle/record.py; not written by hand. Format: recorder/trace.py."]
        for package in packages:
            self.line("package", package, importlib.metadata.version(package))
        self.line("python", platform.python_version())
        self.line("instructions", torch.backends.cpu.get_cpu_capability())
        self.known = {}

    def line(self, key, *values):
        self.lines.append(" ".join([key, *map(word, values)]))

    def data(self, name, tensor):
        """Stores an array once; returns what refers to it."""
        self.line("data", name, tensor)
        self.known[bits(tensor)] = "@" + name
        return tensor

    def tensor(self, key, tensor):
        """A line of one array; by its name if it has one."""
        text = word(tensor)
        self.line(key, self.known.get(text, text))

    def shared(self, key, tensor, name):
        """The same for an array that another case may use too: it gets that name if it has none."""
        if word(tensor) not in self.known:
            self.data(name, tensor)
        self.tensor(key, tensor)

    def case(self, name, **settings):
        self.line("case", name)
        for key, value in settings.items():
            self.line(key, *(value if isinstance(value, (list, tuple)) else [value]))

    def write(self):
        path = FOLDER / (self.name + ".txt")
        path.write_text("\n".join(self.lines) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")
