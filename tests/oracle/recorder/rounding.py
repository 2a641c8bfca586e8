# SPDX-License-Identifier: Apache-2.0
"""Stochastic rounding of torchao with the random words that it drew: its function, and its AdamW on bf16 parameters."""
import torch
from torchao.optim import quant_utils
from torchao.optim.adam import _AdamW

from recorder.inputs import exact, gradients, parameters
from recorder.trace import Trace


class Words:
    """Keeps what torch.randint gives while a block runs."""

    def __enter__(self):
        self.drawn, self.original = [], torch.randint

        def draw(*args, **kwargs):
            self.drawn.append(self.original(*args, **kwargs))
            return self.drawn[-1]

        torch.randint = draw
        return self

    def __exit__(self, *_):
        torch.randint = self.original


def edges():
    """Fractions 0, 1, half, largest; of both signs; subnormal, normal, and at the ends of the range."""
    high = [0x0000, 0x0001, 0x007F, 0x0080, 0x3F7F, 0x3F80, 0x4049, 0x7F7E, 0x7F7F]
    low = [0x0000, 0x0001, 0x4000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]
    return [sign << 31 | h << 16 | l for sign in (0, 1) for h in high for l in low]


def signed(words):
    return torch.tensor([w - (1 << 32) if w >= 1 << 31 else w for w in words], dtype=torch.int32)


def record_function(trace, name, words, repeat):
    x = signed(words).view(torch.float32).repeat(repeat)
    torch.manual_seed(4)
    with Words() as words:
        rounded = quant_utils._fp32_to_bf16_sr(x)
    trace.case(name)
    trace.line("input", x)
    trace.line("random", words.drawn[0])
    trace.line("rounded", rounded)


def record_adamw(trace, name, stochastic):
    steps = 10
    initial = parameters(trace, dtype=torch.bfloat16)
    grads = gradients(trace, "calm", steps, dtype=torch.bfloat16)
    settings = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": exact(0.01)}
    lr = exact(1e-2)
    tensors = [torch.nn.Parameter(x.clone()) for x in initial]
    optimizer = _AdamW(tensors, lr=lr, bf16_stochastic_round=stochastic, **settings)
    torch.manual_seed(5)
    trace.case(name, lr=lr, **settings)
    for x in initial:
        trace.tensor("initial", x)
    for t in range(steps):
        for p, g in zip(tensors, grads[t]):
            p.grad = g.clone()
        with Words() as words:
            optimizer.step()
        trace.line("step", t + 1)
        for g in grads[t]:
            trace.tensor("gradient", g)
        for w in words.drawn:
            trace.line("random", w)
        for p in tensors:
            trace.tensor("parameter", p)
    trace.line("final")
    for p in tensors:
        trace.line("moment_0", optimizer.state[p]["exp_avg"])
        trace.line("moment_1", optimizer.state[p]["exp_avg_sq"])


def record():
    trace = Trace("rounding", "torchao", "torch")
    record_function(trace, "edges", [w for w in edges() if w & 0x7FFFFFFF < 0x7F7F0001], 4)
    generator = torch.Generator().manual_seed(6)
    random = torch.randint(0, 1 << 31, (500,), generator=generator).tolist()
    record_function(trace, "random", [w for w in random if w & 0x7F800000 != 0x7F800000 and w & 0x7FFFFFFF < 0x7F7F0000], 1)
    # Fault: values above the largest bf16 become inf, and a NaN whose payload lies in the cut bits becomes inf.
    record_function(trace, "fault_largest", [0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000], 8)
    record_function(trace, "fault_nan", [0x7F800001, 0xFF80FFFF], 8)
    record_adamw(trace, "adamw_stochastic", True)
    record_adamw(trace, "adamw_nearest", False)
    trace.write()
