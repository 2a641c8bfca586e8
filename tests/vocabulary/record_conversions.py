#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what numpy and ml_dtypes make of fp16, bf16 and fp8: writes recorded_conversions.hpp beside this file.

    python3 -m venv venv && venv/bin/pip install numpy ml_dtypes && venv/bin/python record_conversions.py

The checksums run over every representable value and every midpoint, each with its fp32 neighbours on both sides, in both
signs; `boundary_patterns` in patterns.hpp makes the same list. The samples are a readable part, so that a failure can be read.
"""
import pathlib
import platform
import zlib

import ml_dtypes
import numpy as np

FORMATS = {  # name: (numpy type, bits, largest finite pattern)
    "fp16": (np.float16, np.uint16, 0x7BFF),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 0x7F7F),
    "fp8_e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 0x7E),
    "fp8_e5m2": (ml_dtypes.float8_e5m2, np.uint8, 0x7B),
}


def widen(name, patterns):
    dtype, bits, _ = FORMATS[name]
    return patterns.astype(bits).view(dtype).astype(np.float32)


def narrow(name, x):
    dtype, bits, largest = FORMATS[name]
    with np.errstate(over="ignore"):
        result = x.astype(np.float32).astype(dtype).view(bits)
    if name == "fp8_e4m3":
        # ml_dtypes gives NaN beyond 464; halfstep saturates, as PyTorch's cast does. Only there they differ.
        beyond = np.abs(x) > 464
        assert ((result[beyond] & 0x7F) == 0x7F).all()
        result = np.where(beyond, np.where(np.signbit(x), 0x80 | largest, largest), result).astype(bits)
    return result


def boundary_patterns(name):
    _, _, largest = FORMATS[name]
    values = widen(name, np.arange(largest + 1)).astype(np.float64)
    above = np.append(values[1:], 2 * values[-1] - values[-2])
    middles = ((values + above) / 2).astype(np.float32)
    centres = np.stack([values.astype(np.float32).view(np.uint32), middles.view(np.uint32)], axis=1).reshape(-1)
    centres = centres.astype(np.int64)
    three = np.stack([np.maximum(centres - 1, 0), centres, centres + 1], axis=1).reshape(-1)
    return np.stack([three, three | 0x80000000], axis=1).reshape(-1).astype(np.uint32)


def sample_patterns(name):
    _, _, largest = FORMATS[name]
    rows = boundary_patterns(name).reshape(-1, 12)  # a representable value a row
    random = np.random.default_rng(20).integers(0, 1 << 32, 64, dtype=np.uint32)
    random = random[np.isfinite(random.view(np.float32))]
    ends = rows[[0, 1, largest - 1, largest]].reshape(-1)
    return np.unique(np.concatenate([ends, random, np.float32([np.inf, -np.inf]).view(np.uint32)]))


def table(values, per_line, digits):
    text = [f"0x{int(v):0{digits}X}" for v in values]
    return ",\n".join("    " + ", ".join(text[i : i + per_line]) for i in range(0, len(text), per_line))


def main():
    out = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Written by record_conversions.py with Python {platform.python_version()}, numpy {np.__version__}, "
        f"ml_dtypes {ml_dtypes.__version__}.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace recorded {",
        "",
        "/// Binary32 bits, and what they narrow to.",
        "struct sample {",
        "    std::uint32_t from, to;",
        "};",
    ]
    for name, (_, bits, largest) in FORMATS.items():
        finite = np.arange(largest + 1)
        signs = 1 << (np.dtype(bits).itemsize * 8 - 1)
        both = np.concatenate([finite, finite | signs])
        widened = zlib.crc32(widen(name, both).astype("<f4").tobytes())
        patterns = boundary_patterns(name)
        narrowed = zlib.crc32(narrow(name, patterns.view(np.float32)).astype(np.dtype(bits).newbyteorder("<")).tobytes())
        samples = sample_patterns(name)
        results = narrow(name, samples.view(np.float32))
        pairs = [f"{{0x{int(x):08X}, 0x{int(y):X}}}" for x, y in zip(samples, results)]
        lines = ",\n".join("        " + ", ".join(pairs[i : i + 5]) for i in range(0, len(pairs), 5))
        out += [
            "",
            f"struct {name} {{",
            f"    static constexpr std::uint32_t widened_crc = 0x{widened:08X};",
            f"    static constexpr std::uint32_t boundaries = {len(patterns)};",
            f"    static constexpr std::uint32_t narrowed_crc = 0x{narrowed:08X};",
            "    static constexpr sample samples[] = {",
            lines + "};",
            "};",
        ]
    for name in ("fp8_e4m3", "fp8_e5m2"):
        widened = widen(name, np.arange(256)).view(np.uint32)
        out += ["", f"/// All 256 patterns of {name} as binary32 bits.", f"inline constexpr std::uint32_t {name}_widened[256] = {{"]
        out += [table(widened, 8, 8) + "};"]
    out += ["", "}  // namespace recorded", ""]
    pathlib.Path(__file__).with_name("recorded_conversions.hpp").write_text("\n".join(out))


if __name__ == "__main__":
    main()
