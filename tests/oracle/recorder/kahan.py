# SPDX-License-Identifier: Apache-2.0
"""Kahan summation of torch-optimi in bf16, and the same training in fp32 to compare both with."""
import optimi
import torch

from recorder.inputs import exact, gradients, parameters
from recorder.trace import Trace


def run(trace, name, cls, initial, grads, lr, dtype, **settings):
    tensors = [torch.nn.Parameter(x.to(dtype, copy=True)) for x in initial]
    optimizer = cls(tensors, lr=lr, foreach=False, triton=False, **settings)
    trace.case(name, lr=lr, **settings)
    for x in initial:
        trace.tensor("initial", x)
    for t, step in enumerate(grads):
        for p, g in zip(tensors, step):
            p.grad = g.to(dtype, copy=True)  # optimi uses the gradient as scratch
        optimizer.step()
        trace.line("step", t + 1)
        for g in step:
            trace.tensor("gradient", g)
        for p in tensors:
            trace.tensor("parameter", p)
            if dtype != torch.float32:
                trace.tensor("companion", optimizer.state[p]["kahan_comp"])


def record():
    trace = Trace("kahan", "torch-optimi", "torch")
    bf16, fp32 = torch.bfloat16, torch.float32
    sizes = [40, 3]
    initial = parameters(trace, sizes=sizes, dtype=bf16)
    grads = gradients(trace, "calm", 30, sizes=sizes, dtype=bf16)
    # Updates of a thirtieth of a last place of the parameter.
    sgd = {"momentum": 0.0, "weight_decay": 0.0}
    run(trace, "sgd_bf16", optimi.SGD, initial, grads, exact(1e-3), bf16, **sgd)
    run(trace, "sgd_fp32", optimi.SGD, initial, grads, exact(1e-3), fp32, **sgd)
    # 100 updates of 6e-4 from 1 on, each below half a last place.
    one = [torch.ones(1, dtype=bf16)]
    same = [[torch.full((1,), 0.6, dtype=bf16)] for _ in range(100)]
    run(trace, "steady_bf16", optimi.SGD, one, same, exact(1e-3), bf16, **sgd)
    adamw = {"betas": (exact(0.9), exact(0.99)), "eps": exact(1e-6), "weight_decay": 0.0}
    run(trace, "adamw_bf16", optimi.AdamW, initial, grads, exact(1e-3), bf16, **adamw)
    run(trace, "adamw_fp32", optimi.AdamW, initial, grads, exact(1e-3), fp32, **adamw)
    trace.write()
