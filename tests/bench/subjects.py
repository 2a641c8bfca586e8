# SPDX-License-Identifier: Apache-2.0
"""The library of bench_library.cpp, and tensors for it: torch's where there is torch, else numpy's."""
import ctypes

LR = 1e-4


class Library:
    def __init__(self, path):
        library = self._library = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        library.bench_create.restype = pointer
        library.bench_create.argtypes = [ctypes.c_char_p, ctypes.c_int, number, pointer, pointer, pointer]
        library.bench_run.argtypes = [pointer, ctypes.c_float, ctypes.c_int]
        library.bench_run_roof.argtypes = [pointer, ctypes.c_int]
        library.bench_set_moments.argtypes = [pointer, ctypes.c_float, ctypes.c_float]
        library.bench_destroy.argtypes = [pointer]

    def subject(self, name, threads, parameters, gradients):
        return Subject(self._library, name, threads, parameters, gradients)


class Subject:
    """A composed step or the hand-written one, on parameters of its own."""

    def __init__(self, library, name, threads, parameters, gradients):
        self._library, self._keep = library, (parameters, gradients)
        count = len(parameters)
        sizes = (ctypes.c_int64 * count)(*map(len, parameters))
        self._handle = library.bench_create(name.encode(), threads, count, sizes, _addresses(parameters), _addresses(gradients))
        if not self._handle:
            raise RuntimeError(f"no subject {name}")

    def run(self, repeats):
        if self._library.bench_run(self._handle, LR, repeats) != repeats:
            raise RuntimeError("a step was skipped: nothing was measured")

    def run_roof(self, repeats):
        """The memory-only loop over this subject's streams; it overwrites the fp16 parameters, which no step reads."""
        if self._library.bench_run_roof(self._handle, repeats) != repeats:
            raise RuntimeError("the library was compiled without the memory-only loop")

    def set_moments(self, first, second):
        self._library.bench_set_moments(self._handle, first, second)

    def close(self):
        self._library.bench_destroy(self._handle)
        self._keep = None


def _addresses(tensors):
    get = (lambda t: t.data_ptr()) if hasattr(tensors[0], "data_ptr") else (lambda t: t.ctypes.data)
    return (ctypes.c_void_p * len(tensors))(*map(get, tensors))


class Tensors:
    """Random tensors of some dtype: one pattern over and over, since what matters is that no value is special."""

    def __init__(self, torch):
        self.torch = torch
        if torch is None:
            import numpy
            self._numpy = numpy
            self._pattern = numpy.random.default_rng(1).standard_normal(1 << 20, dtype=numpy.float32)
        else:
            self._pattern = torch.randn(1 << 20, generator=torch.Generator().manual_seed(1))

    def make(self, sizes, dtype, magnitude):
        pattern = self._as(dtype, self._pattern * magnitude)
        return [self._one(n, pattern) for n in sizes]

    def _as(self, dtype, values):
        if self.torch is not None:
            return values.to({"fp16": self.torch.float16, "bf16": self.torch.bfloat16, "float": self.torch.float32}[dtype])
        if dtype == "bf16":  # its bits, cut off
            return (values.view(self._numpy.uint32) >> 16).astype(self._numpy.uint16)
        return values.astype({"fp16": self._numpy.float16, "float": self._numpy.float32}[dtype])

    def _one(self, n, pattern):
        if self.torch is not None:
            result = self.torch.empty(n, dtype=pattern.dtype)
        else:
            room = self._numpy.empty(n + 64, dtype=pattern.dtype)
            start = -room.ctypes.data % 64 // pattern.itemsize  # at a cache line, as torch's are
            result = room[start : start + n]
        for begin in range(0, n, len(pattern)):
            end = min(n, begin + len(pattern))
            result[begin:end] = pattern[: end - begin]
        return result
