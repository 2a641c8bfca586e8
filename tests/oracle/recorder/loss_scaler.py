# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's DynamicLossScaler, and its whole engine where that shows a fault."""
import contextlib
import itertools
import os
import random

import torch

from recorder.trace import Trace


def quiet():
    """The scaler logs every overflow."""
    import logging

    logging.disable(logging.CRITICAL)


def record_scaler(trace, name, sequence, **settings):
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler

    scaler = DynamicLossScaler(**settings)
    trace.case(name, **settings)
    scales, credits, raised = [], [], -1
    for i, c in enumerate(sequence):
        try:
            scaler.update_scale(c == "i")
        except Exception:  # it raises Exception itself
            raised = i
            sequence = sequence[: i + 1]
            break
        scales.append(float(scaler.cur_scale))
        credits.append(scaler.cur_hysteresis)
    trace.line("gradients", sequence)
    trace.line("scale", *scales)
    trace.line("hysteresis", *credits)
    trace.line("raised_at", raised)


def random_sequence(seed, steps, often):
    generator = random.Random(seed)
    return "".join("i" if generator.random() < often else "." for _ in range(steps))


def record_engine(trace):
    """One weight, SGD, a gradient of 0.25 after unscaling on every step: each step should be lr * 0.25."""
    import deepspeed

    for stage in (1, 2, 3):
        model = torch.nn.Linear(1, 1, bias=False).half()
        with torch.no_grad():
            model.weight.fill_(1.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        engine, optimizer, _, _ = deepspeed.initialize(
            model=model,
            optimizer=optimizer,
            config={
                "train_micro_batch_size_per_gpu": 1,
                "fp16": {"enabled": True, "initial_scale_power": 4, "loss_scale_window": 2, "hysteresis": 1},
                "zero_optimization": {"stage": stage},
                "zero_allow_untested_optimizer": True,
                "gradient_clipping": 0.0,
            },
        )
        trace.case(f"engine_zero_{stage}", init_scale=16.0, scale_window=2, delayed_shift=1, lr=0.5, gradient=0.25)
        masters, scales = [], []
        for _ in range(6):
            loss = engine(torch.full((1, 1), 0.25).half()).sum()
            engine.backward(loss)
            engine.step()
            groups = getattr(optimizer, "single_partition_of_fp32_groups", None) or optimizer.fp32_partitioned_groups_flat
            masters.append(groups[0].detach()[0].item())
            scales.append(float(optimizer.loss_scaler.cur_scale))
        trace.line("master", *masters)
        trace.line("scale", *scales)


def record():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ |= {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "1"}
    import torch.distributed as dist

    quiet()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    import deepspeed

    deepspeed.init_distributed("gloo")
    trace = Trace("loss_scaler", "deepspeed", "torch")
    common = {"init_scale": 2.0**16, "min_scale": 2.0**-100}
    for consecutive, hysteresis in itertools.product((False, True), (1, 2, 3)):
        mode = "consecutive" if consecutive else "default"
        settings = {"delayed_shift": hysteresis, "consecutive_hysteresis": consecutive}
        golden = "i..i....ii......"
        record_scaler(trace, f"golden_{mode}_{hysteresis}", golden, init_scale=16.0, min_scale=1.0, scale_window=3,
                      **settings)
        for window, often in ((1, 0.45), (5, 0.1), (17, 0.04)):
            seed = hysteresis * 100 + window
            record_scaler(trace, f"random_{mode}_{hysteresis}_{window}", random_sequence(seed, 300, often),
                          scale_window=window, **common, **settings)
    # At its floor it raises.
    record_scaler(trace, "floor_1", "iiiiii", init_scale=4.0, min_scale=1.0, scale_window=3, delayed_shift=1,
                  consecutive_hysteresis=False)
    record_scaler(trace, "floor_2", "iiiiiiii", init_scale=16.0, min_scale=1.0, scale_window=3, delayed_shift=2,
                  consecutive_hysteresis=False)
    # Fault: growth has no bound; the scale leaves what fp32 holds, and every loss becomes inf.
    record_scaler(trace, "ceiling", "........", init_scale=2.0**126, min_scale=1.0, scale_window=1, delayed_shift=1,
                  consecutive_hysteresis=False)
    # Fault: a hysteresis of 0 never cuts.
    record_scaler(trace, "hysteresis_0", "iiiiiiii", init_scale=16.0, min_scale=1.0, scale_window=3, delayed_shift=0,
                  consecutive_hysteresis=False)
    # Fault: the scale grows before the gradients of that step are unscaled, which then moves half as far.
    record_engine(trace)
    trace.write()
    with contextlib.suppress(Exception):
        dist.destroy_process_group()
