# SPDX-License-Identifier: Apache-2.0
"""Parameters and gradients that the cases of a trace share. Seeded, so that recording anew gives the same file."""
import torch

SIZES = [64, 33, 3]  # whole vectors, a tail, less than a vector


def exact(x):
    """The fp32 value nearest to x, so that both sides start from one number."""
    return torch.tensor(x, dtype=torch.float32).item()


def parameters(trace, seed=1, sizes=SIZES, dtype=torch.float32, scale=0.5):
    """Random ones; some are 0, -0 or tiny."""
    generator = torch.Generator().manual_seed(seed)
    result = []
    for i, n in enumerate(sizes):
        x = torch.randn(n, generator=generator) * scale
        if n > 8:
            x[3], x[5], x[7] = 0.0, -0.0, 2.0**-40
        result.append(trace.data(f"parameter/{seed}/{i}", x.to(dtype)))
    return result


def gradients(trace, kind, steps, seed=2, sizes=SIZES, dtype=torch.float32, scale=1.0):
    """`calm`: normally distributed; `wild`: magnitudes from 2^-30 to 2^10, and rows of zeros."""
    generator = torch.Generator().manual_seed(seed)
    result = []
    for t in range(steps):
        tensors = []
        for i, n in enumerate(sizes):
            x = torch.randn(n, generator=generator) * 0.1
            if kind == "wild":
                x = torch.sign(x) * 2.0 ** (torch.rand(n, generator=generator) * 40 - 30)
                x[torch.rand(n, generator=generator) < 0.1] = 0
            tensors.append(trace.data(f"{kind}/{t}/{i}", (x * scale).to(dtype)))
        result.append(tensors)
    return result


def same_bits(a, b):
    """Of nested lists of tensors."""
    if isinstance(a, torch.Tensor):
        width = torch.int32 if a.dtype == torch.float32 else torch.int16
        return a.dtype == b.dtype and torch.equal(a.view(width), b.view(width))
    return len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b))
