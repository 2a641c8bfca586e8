# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils.clip_grad_norm_: the norm, the factor and the clipped gradients."""
import torch

from recorder.inputs import exact
from recorder.trace import Trace


def random(seed, n, scale=1.0, wild=False):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, generator=generator)
    if wild:
        x = torch.sign(x) * 2.0 ** (torch.rand(n, generator=generator) * 40 - 30)
    return x * scale


def several(dtype, scale=1.0, wild=False):
    return [random(20 + i, n, scale, wild).to(dtype) for i, n in enumerate((64, 33, 0, 3, 1))]


def record_case(trace, name, gradients, max_norm, write_clipped=True):
    results = []
    for foreach in (False, True):
        parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
        for p, g in zip(parameters, gradients):
            p.grad = g.clone()
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, foreach=foreach)
        results.append((norm.item(), [p.grad for p in parameters]))
    (norm, clipped), (foreach_norm, foreach_clipped) = results
    trace.case(name, max_norm=float(max_norm), norm=norm, foreach_norm=foreach_norm)
    trace.line("step", 1)
    for g in gradients:
        trace.tensor("gradient", g)
    if write_clipped:
        for g in clipped:
            trace.tensor("clipped", g)
        same = all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(clipped, foreach_clipped))
        trace.line("foreach_clips_alike", same)


def record():
    trace = Trace("clip_grad_norm", "torch")
    fp32, fp16, bf16 = torch.float32, torch.float16, torch.bfloat16
    record_case(trace, "pythagorean", [torch.tensor([3.0]), torch.tensor([4.0])], 1.0)
    for dtype, name in ((fp32, "fp32"), (fp16, "fp16"), (bf16, "bf16")):
        record_case(trace, f"{name}_clipped", several(dtype), 1.0)
        record_case(trace, f"{name}_clipped_hard", several(dtype, 100.0), exact(0.01))
        record_case(trace, f"{name}_not_clipped", several(dtype), 100.0)
        record_case(trace, f"{name}_zero", [torch.zeros(5, dtype=dtype), torch.zeros(1, dtype=dtype)], 1.0)
    record_case(trace, "fp32_wild", several(fp32, wild=True), 1.0)
    record_case(trace, "fp32_large", [random(30, 5000), random(31, 1000, 3.0)], 1.0, write_clipped=False)
    record_case(trace, "fp16_large", [random(32, 9000).half()], 1.0, write_clipped=False)
    # Fault: the norm has the gradients' dtype. From 65520 on it is inf in fp16, the factor 0, and every gradient becomes 0.
    record_case(trace, "fault_fp16_norm", [torch.tensor([60000.0, 48000.0], dtype=fp16)], 1.0)
    # Fault: the same in fp32 where squares overflow.
    record_case(trace, "fault_fp32_norm", [torch.tensor([1e25, 1.0])], 1.0)
    # Fault: one gradient that is not finite erases the others (or makes them NaN).
    record_case(trace, "fault_inf", [torch.tensor([1.0, float("inf"), 2.0]), torch.tensor([3.0])], 1.0)
    record_case(trace, "fault_nan", [torch.tensor([1.0, float("nan"), 2.0]), torch.tensor([3.0])], 1.0)
    # Fault: a negative limit turns every gradient round.
    record_case(trace, "fault_negative_limit", [torch.tensor([3.0, 4.0])], -1.0)
    trace.write()
