# SPDX-License-Identifier: Apache-2.0
"""The whole step in mixed precision as one writes it with torch: unscale, clip, AdamW, fp16 copy, update of the scale."""
import torch

from recorder.inputs import SIZES, exact, parameters, same_bits
from recorder.rules import IMPLEMENTATIONS
from recorder.trace import Trace

STEPS = 20
BAD = {0: float("inf"), 5: float("nan"), 6: float("-inf"), 13: float("inf")}  # in one element of one tensor
ADAMW = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": exact(0.01)}
LR = exact(1e-2)


def run(make, initial, scaling, max_norm, gradient_dtype):
    """fp32 masters with gradients that were computed in `gradient_dtype` and carry the scale of their step."""
    masters = [torch.nn.Parameter(x.float().clone()) for x in initial]
    optimizer = make(masters)
    scaler = torch.amp.GradScaler("cpu", **scaling)
    scaler.scale(torch.ones(()))
    generator = torch.Generator().manual_seed(9)
    steps = []
    for t in range(STEPS):
        scale = scaler.get_scale()
        gradients = [(torch.randn(n, generator=generator) * 0.1 * scale).to(gradient_dtype) for n in SIZES]
        if t in BAD:
            gradients[t % 3][t % 2] = BAD[t]
        for p, g in zip(masters, gradients):
            p.grad = g.float().clone()
        norm = None
        before = [p.detach().clone() for p in masters]
        if max_norm is not None:
            scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(masters, max_norm)
        scaler.step(optimizer)
        scaler.update()
        steps.append((scale, gradients, norm, [p.detach().clone() for p in masters], not same_bits(before, masters)))
    return steps, [int(optimizer.state[p]["step"]) for p in masters], scaler.get_scale()


def record_case(trace, name, initial, scaling, max_norm, gradient_dtype, parameter_dtype):
    groups = []
    for implementation, how in IMPLEMENTATIONS.items():
        result = run(lambda p: torch.optim.AdamW(p, lr=LR, **ADAMW, **how), initial, scaling, max_norm, gradient_dtype)
        for group in groups:
            if all(same_bits(a[3], b[3]) for a, b in zip(group[1][0], result[0])):
                group[0].append(implementation)
                break
        else:
            groups.append(([implementation], result))
    for implementations, (steps, counts, last_scale) in groups:
        trace.case(name, implementations=implementations, max_norm=max_norm, lr=LR, **scaling, **ADAMW)
        for x in initial:
            trace.tensor("initial", x)
        for t, (scale, gradients, norm, masters, applied) in enumerate(steps):
            trace.line("step", t + 1)
            trace.line("scale", scale)
            trace.line("applied", applied)
            if norm is not None and applied:
                trace.line("norm", norm.item())
            for i, g in enumerate(gradients):
                trace.shared("gradient", g, f"{name}/{t}/{i}")
            for m in masters:
                trace.tensor("master", m)
            if parameter_dtype != torch.float32 and applied:
                for m in masters:
                    trace.tensor("parameter", m.to(parameter_dtype))
        trace.line("final")
        trace.line("counts", *counts)
        trace.line("scale", last_scale)


def record():
    trace = Trace("mixed", "torch")
    fp16_initial = parameters(trace, dtype=torch.float16)
    fp32_initial = [trace.data(f"fp32/{i}", x.float()) for i, x in enumerate(fp16_initial)]
    powers = {"init_scale": 2.0**12, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 3}
    uneven = {"init_scale": 1000.0, "growth_factor": exact(1.7), "backoff_factor": exact(0.6), "growth_interval": 3}
    record_case(trace, "fp16_clipped", fp16_initial, powers, exact(0.7), torch.float16, torch.float16)
    record_case(trace, "fp16", fp16_initial, powers, None, torch.float16, torch.float16)
    record_case(trace, "fp32_clipped_uneven", fp32_initial, uneven, exact(0.7), torch.float32, torch.float32)
    record_case(trace, "fp32_uneven", fp32_initial, uneven, None, torch.float32, torch.float32)

    # Fault: bf16 is trained without a scaler, and then nobody looks: one inf, and weight and moments are lost.
    parameter = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW([parameter], lr=LR, **ADAMW)
    trace.case("fault_bf16_unchecked", lr=LR, **ADAMW)
    trace.line("initial", parameter)
    for t, bad in enumerate((1.0, float("inf"), 1.0)):
        parameter.grad = torch.tensor([1.0, bad], dtype=torch.bfloat16)
        optimizer.step()
        trace.line("step", t + 1)
        trace.line("gradient", parameter.grad)
        trace.line("parameter", parameter)
    # Fault: eps = 1e-8 is 0 in fp16, and a gradient of 0 becomes 0 / 0.
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float16))
    optimizer = torch.optim.AdamW([parameter], lr=LR, **(ADAMW | {"weight_decay": 0.0}))
    trace.case("fault_fp16_eps", lr=LR, **(ADAMW | {"weight_decay": 0.0}))
    trace.line("initial", parameter)
    for t in range(2):
        parameter.grad = torch.zeros(3, dtype=torch.float16)
        optimizer.step()
        trace.line("step", t + 1)
        trace.line("gradient", parameter.grad)
        trace.line("parameter", parameter)
    trace.write()
