#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peers' steps on a device: picoseconds a parameter, medians by events.

    device_peers.py [--sizes 1e6,1e7,1e8,1e9] [--seconds 0.3]

    peer NAME PARAMETERS PS_A_PARAMETER
What is not installed, or does not fit in the memory, is left out and said so in a line that starts with '#'.
"""
import argparse
import statistics
import time

ADAMW = {"lr": 1e-4, "weight_decay": 0.01}


def torch_fused(torch, parameter):
    return torch.optim.AdamW([parameter], fused=True, **ADAMW).step


def torch_scaled(torch, parameter):
    """GradScaler, clipping by norm, fused AdamW: what a step of ours with dynamic scaling and clip_by_norm does."""
    optimizer = torch.optim.AdamW([parameter], fused=True, **ADAMW)
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0, growth_interval=1 << 30)
    scaler.scale(torch.ones((), device="cuda"))  # makes its state

    def step():
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_([parameter], 1.0, foreach=True)
        scaler.step(optimizer)
        scaler.update()

    return step


def apex_fused(torch, parameter):
    from apex.optimizers import FusedAdam
    return FusedAdam([parameter], adam_w_mode=True, **ADAMW).step


def bitsandbytes_of(name):
    def make(torch, parameter):
        import bitsandbytes
        return getattr(bitsandbytes.optim, name)([parameter], **ADAMW).step
    return make


# Name, what makes the step, dtype of parameters and gradients.
PEERS = [
    ("torch_fused_float", torch_fused, "float32"),
    ("torch_fused_bf16", torch_fused, "bfloat16"),
    ("torch_scaled_float", torch_scaled, "float32"),
    ("apex_fused_float", apex_fused, "float32"),
    ("apex_fused_bf16", apex_fused, "bfloat16"),
    ("bitsandbytes_float", bitsandbytes_of("AdamW"), "float32"),
    ("bitsandbytes_8bit_bf16", bitsandbytes_of("AdamW8bit"), "bfloat16"),
]


def median_seconds(torch, step, seconds):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(repeats):
        start.record()
        for _ in range(repeats):
            step()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1000 / repeats

    batch(1)
    repeats = max(1, min(100, int(1e-3 / max(batch(1), 1e-6))))
    taken, end = [], time.perf_counter() + seconds
    while len(taken) < 5 or (len(taken) < 201 and time.perf_counter() < end):
        taken.append(batch(repeats))
    return statistics.median(taken)


def measure(torch, make, dtype, size, seconds):
    parameter = torch.nn.Parameter(torch.rand(size, device="cuda", dtype=dtype).sub_(0.5).mul_(0.04))
    parameter.grad = torch.rand(size, device="cuda", dtype=dtype).sub_(0.5)
    return median_seconds(torch, make(torch, parameter), seconds)


def reason_of(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:120] if lines else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e6,1e7,1e8,1e9")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each peer and size")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        return print("# no torch:", reason_of(error))
    if not torch.cuda.is_available():
        return print("# torch has no GPU here")
    print("# torch", torch.__version__)
    for size in (int(float(s)) for s in options.sizes.split(",")):
        for name, make, dtype in PEERS:
            try:
                seconds = measure(torch, make, getattr(torch, dtype), size, options.seconds)
                print(f"peer {name} {size} {seconds / size * 1e12:.4g}", flush=True)
            except Exception as error:  # whatever an absent or broken peer raises: it is left out, and said so
                print(f"# {name} {size}: {reason_of(error)}", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
