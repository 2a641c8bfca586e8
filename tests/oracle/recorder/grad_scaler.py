# SPDX-License-Identifier: Apache-2.0
"""torch.amp.GradScaler: scale, growth tracker and skips over sequences of overflows."""
import random

import torch

from recorder.inputs import exact
from recorder.trace import Trace


class Run:
    """One parameter, SGD and a real scaler. `step(c)`: c is '.', or a gradient of 'i'nf, '-'inf or 'n'an."""

    BAD = {"i": float("inf"), "-": float("-inf"), "n": float("nan")}

    def __init__(self, **settings):
        self.parameter = torch.nn.Parameter(torch.zeros(2))
        self.optimizer = torch.optim.SGD([self.parameter], lr=1.0)
        self.scaler = torch.amp.GradScaler("cpu", **settings)
        self.scaler.scale(torch.ones(()))  # creates its state
        self.applied = 0
        self.optimizer.register_step_post_hook(lambda *_: setattr(self, "applied", self.applied + 1))

    def step(self, what):
        before = self.applied
        self.parameter.grad = torch.tensor([1.0, self.BAD.get(what, 1.0)]) * 2.0**-10
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return self.applied != before

    def record(self, trace, sequence):
        scales, trackers, applied = [], [], ""
        for what in sequence:
            applied += "1" if self.step(what) else "0"
            scales.append(self.scaler.get_scale())
            trackers.append(self.scaler._get_growth_tracker())
        trace.line("gradients", sequence)
        trace.line("applied", applied)
        trace.line("scale", *scales)
        trace.line("tracker", *trackers)


def sequence(seed, steps, often):
    generator = random.Random(seed)
    return "".join(generator.choice("i-n") if generator.random() < often else "." for _ in range(steps))


def record():
    trace = Trace("grad_scaler", "torch")

    def case(name, sequence, **settings):
        settings = {"init_scale": 2.0**16, "growth_factor": 2.0, "backoff_factor": 0.5} | settings
        trace.case(name, **settings)
        run = Run(**settings)
        run.record(trace, sequence)
        return run

    case("golden", "i..n....i-......", init_scale=16.0, growth_interval=3)
    case("rare", sequence(1, 400, 0.03), growth_interval=20)
    case("often", sequence(2, 400, 0.25), growth_interval=3)
    case("every_step", "....i..n..." * 4, growth_interval=1)
    # Products that need rounding.
    case("uneven", sequence(3, 300, 0.1), growth_interval=4, init_scale=1000.0, growth_factor=exact(1.1),
         backoff_factor=exact(0.7))
    # Growth that would be infinite leaves the scale and restarts the count.
    case("largest", "........", init_scale=2.0**127, growth_interval=2)
    case("largest_uneven", "........i......", init_scale=2.0**126, growth_factor=1.75, growth_interval=2)

    # Fault: the count is compared for equality, so that an interval below it never comes.
    run = case("interval_lowered_before", ".....", growth_interval=10)
    run.scaler.set_growth_interval(3)
    trace.case("interval_lowered_after", growth_interval=3)
    run.record(trace, "." * 12)

    # Fault: no floor. 166 overflows from 2^16 on reach 0, whose reciprocal is inf; then a clean gradient of 0 * loss
    # becomes 0 * inf = NaN, is not found, and the parameter is lost.
    run = case("floor", "i" * 170, growth_interval=2000)
    run.parameter.grad = torch.ones(2) * run.scaler.get_scale()
    run.scaler.step(run.optimizer)
    run.scaler.update()
    trace.line("final")
    trace.line("parameter", run.parameter)

    # Fault: kernels test found_inf == 1. A sum of two flags is 2: not skipped, and the count goes back.
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([parameter], lr=exact(1e-2), fused=True)
    trace.case("found_inf_two", lr=exact(1e-2))
    for t, (flag, gradient) in enumerate([(0.0, 1.0), (1.0, float("inf")), (2.0, float("inf"))]):
        parameter.grad = torch.tensor([1.0, gradient])
        optimizer.grad_scale, optimizer.found_inf = torch.ones(()), torch.tensor(flag)
        optimizer.step()
        trace.line("step", t + 1)
        trace.line("found_inf", flag)
        trace.line("gradient", parameter.grad)
        trace.line("count", int(optimizer.state[parameter]["step"].item()))
        trace.line("parameter", parameter)
    trace.write()
