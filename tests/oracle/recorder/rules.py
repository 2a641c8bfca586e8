# SPDX-License-Identifier: Apache-2.0
"""Update rules in fp32: torch's Adam, AdamW, SGD and Adagrad in each of their implementations, DeepSpeedCPUAdam,
lion-pytorch."""
import torch

from recorder.inputs import exact, gradients, parameters, same_bits
from recorder.trace import Trace

STEPS = 8


def run(make, initial, grads, rates, absent=()):
    """Parameters after each step, then the moments and the step count of each tensor.

    `absent`: pairs (step, tensor) without a gradient."""
    tensors = [torch.nn.Parameter(x.clone()) for x in initial]
    optimizer = make(tensors)
    history = []
    for t, (tensors_grads, rate) in enumerate(zip(grads, rates)):
        for i, (p, g) in enumerate(zip(tensors, tensors_grads)):
            p.grad = None if (t, i) in absent else g.clone()
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        history.append([p.detach().clone() for p in tensors])
    moments, counts = [], []
    for p in tensors:
        state = optimizer.state[p]
        kept = (state.get(key) for key in ("exp_avg", "exp_avg_sq", "momentum_buffer", "sum"))
        moments.append([m.clone() for m in kept if m is not None])
        counts.append(int(state["step"]) if "step" in state else None)
    return history, moments, counts


def record_case(trace, name, makes, initial, grads, rates, absent=(), **settings):
    """One case for each set of bits: implementations that agree in all of them share one."""
    groups = []
    for implementation, make in makes.items():
        result = run(make, initial, grads, rates, absent)
        for group in groups:
            if same_bits(group[1][:2], result[:2]) and group[1][2] == result[2]:
                group[0].append(implementation)
                break
        else:
            groups.append(([implementation], result))
    for implementations, (history, moments, counts) in groups:
        trace.case(name, implementations=implementations, **settings)
        for x in initial:
            trace.tensor("initial", x)
        for t, tensors in enumerate(history):
            trace.line("step", t + 1)
            trace.line("lr", rates[t])
            for i, g in enumerate(grads[t]):
                trace.tensor("gradient", None if (t, i) in absent else g)
            for x in tensors:
                trace.tensor("parameter", x)
        trace.line("final")
        for ms in moments:
            for k, m in enumerate(ms):
                trace.tensor(f"moment_{k}", m)
        if counts[0] is not None:
            trace.line("counts", *counts)


def inputs(trace):
    return parameters(trace), {"calm": gradients(trace, "calm", STEPS), "wild": gradients(trace, "wild", STEPS, seed=3)}


IMPLEMENTATIONS = {"for_loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def torch_makes(cls, **settings):
    return {name: (lambda p, how=how: cls(p, lr=1.0, **settings, **how)) for name, how in IMPLEMENTATIONS.items()}


ADAM_CASES = {
    # name: (gradients, lr, settings)
    "plain": ("calm", 1e-3, {}),
    "decay": ("calm", 1e-2, {"weight_decay": exact(0.1)}),
    "wild": ("wild", 1e-2, {"weight_decay": exact(0.01)}),
    "large_steps": ("wild", 0.1, {"weight_decay": exact(0.1), "eps": exact(1e-6)}),
    "large_eps": ("calm", 1e-2, {"eps": exact(1e-3), "weight_decay": exact(0.01)}),
    # A lerp weight of 0.5 and more takes torch's other formula.
    "short_memory": ("calm", 1e-2, {"betas": (0.5, 0.75), "weight_decay": exact(0.01)}),
    "no_memory": ("calm", 1e-2, {"betas": (0.0, 0.0), "weight_decay": exact(0.01)}),
}


def adam_like(name, cls):
    trace = Trace(name, "torch")
    initial, grads = inputs(trace)
    for case, (kind, lr, settings) in ADAM_CASES.items():
        settings = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": 0.0} | settings
        record_case(trace, case, torch_makes(cls, **settings), initial, grads[kind], [exact(lr)] * STEPS, **settings)
    settings = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": exact(0.01)}
    schedule = [exact(lr) for lr in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 5e-3, 0.0, 1e-3)]
    record_case(trace, "schedule", torch_makes(cls, **settings), initial, grads["calm"], schedule, **settings)
    # A tensor without a gradient takes no part in a step: no decay, no count.
    absent = {(0, 1), (1, 1), (2, 2), (3, 0), (3, 1), (3, 2), (6, 1)}
    record_case(trace, "absent", torch_makes(cls, **settings), initial, grads["calm"], [exact(1e-2)] * STEPS, absent,
                **settings)
    # 100 steps, to see what adds up.
    long = gradients(trace, "long", 100, seed=7, sizes=[19])
    settings = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": exact(0.01)}
    few = parameters(trace, seed=8, sizes=[19])
    record_case(trace, "long", torch_makes(cls, **settings), few, long, [exact(1e-3)] * 100, **settings)
    # torch's own defaults are decimal numbers that it keeps in double.
    settings = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
    record_case(trace, "double_settings", torch_makes(cls, **settings), initial, grads["calm"], [1e-3] * STEPS, **settings)
    trace.write()


def adamw():
    adam_like("adamw", torch.optim.AdamW)


def adam():
    adam_like("adam", torch.optim.Adam)


def sgd():
    trace = Trace("sgd", "torch")
    initial, grads = inputs(trace)
    cases = {
        "plain": ("calm", 0.1, {}),
        "decay": ("wild", 0.1, {"weight_decay": exact(0.1)}),
        "momentum": ("calm", 0.1, {"momentum": exact(0.9)}),
        "momentum_decay": ("wild", 0.01, {"momentum": exact(0.9), "weight_decay": exact(0.01)}),
        "dampening": ("calm", 0.1, {"momentum": exact(0.9), "dampening": exact(0.3), "weight_decay": exact(0.01)}),
        "nesterov": ("calm", 0.1, {"momentum": exact(0.9), "nesterov": True}),
        "nesterov_decay": ("wild", 0.01, {"momentum": exact(0.95), "nesterov": True, "weight_decay": exact(0.01)}),
    }
    for case, (kind, lr, settings) in cases.items():
        settings = {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False} | settings
        makes = torch_makes(torch.optim.SGD, **settings)
        record_case(trace, case, makes, initial, grads[kind], [exact(lr)] * STEPS, **settings)
    absent = {(0, 1), (1, 1), (2, 2), (5, 0)}
    settings = {"momentum": exact(0.9), "dampening": exact(0.3), "weight_decay": exact(0.01), "nesterov": False}
    makes = torch_makes(torch.optim.SGD, **settings)
    del makes["fused"]  # it raises TypeError where some tensors have a momentum buffer and others none yet
    record_case(trace, "absent", makes, initial, grads["calm"], [exact(0.1)] * STEPS, absent, **settings)
    trace.write()


def adagrad():
    trace = Trace("adagrad", "torch")
    initial, grads = inputs(trace)
    # Rows that see no gradient for three steps, then gradients of any size.
    grads["late"] = [[torch.zeros_like(g) for g in tensors] for tensors in grads["wild"][:3]] + grads["wild"][3:]
    defaults = {"lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "eps": exact(1e-10)}
    both = {"lr_decay": exact(0.1), "weight_decay": exact(0.01)}
    cases = {
        "plain": ("calm", 1e-2, {}),
        "wild": ("wild", 1e-2, {}),
        "lr_decay": ("calm", 0.1, {"lr_decay": exact(0.1)}),
        "decay": ("calm", 1e-2, {"weight_decay": exact(0.1)}),
        "large_steps": ("wild", 0.5, both),
        "large_eps": ("calm", 0.1, {"eps": exact(1e-2)} | both),
        "zeros": ("late", 1e-2, {}),
        "zeros_decay": ("late", 1e-2, both),
        "start": ("calm", 0.1, {"initial_accumulator_value": exact(0.1)} | both),
    }
    for case, (kind, lr, settings) in cases.items():
        settings = defaults | settings
        makes = torch_makes(torch.optim.Adagrad, **settings)
        record_case(trace, case, makes, initial, grads[kind], [exact(lr)] * STEPS, **settings)
    settings = defaults | both
    makes = torch_makes(torch.optim.Adagrad, **settings)
    schedule = [exact(lr) for lr in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 5e-3, 0.0, 1e-3)]
    record_case(trace, "schedule", makes, initial, grads["calm"], schedule, **settings)
    # A tensor without a gradient takes no part in a step: its own count is what slows its rate.
    absent = {(0, 1), (1, 1), (2, 2), (3, 0), (3, 1), (3, 2), (6, 1)}
    record_case(trace, "absent", makes, initial, grads["calm"], [exact(0.1)] * STEPS, absent, **settings)
    long = gradients(trace, "long", 100, seed=7, sizes=[19])
    record_case(trace, "long", makes, parameters(trace, seed=8, sizes=[19]), long, [exact(1e-2)] * 100, **settings)
    # torch keeps decimal numbers in double.
    settings = {"lr_decay": 0.01, "weight_decay": 0.01, "initial_accumulator_value": 0.0, "eps": 1e-10}
    makes = torch_makes(torch.optim.Adagrad, **settings)
    record_case(trace, "double_settings", makes, initial, grads["calm"], [1e-2] * STEPS, **settings)
    trace.write()


def cpu_adam():
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    trace = Trace("cpu_adam", "deepspeed", "torch")
    initial, grads = inputs(trace)
    for mode in (True, False):
        for case, (kind, lr, settings) in ADAM_CASES.items():
            settings = {"betas": (exact(0.9), exact(0.999)), "eps": exact(1e-8), "weight_decay": 0.0} | settings
            make = {"avx": lambda p: DeepSpeedCPUAdam(p, lr=1.0, adamw_mode=mode, **settings)}
            record_case(trace, case, make, initial, grads[kind], [exact(lr)] * STEPS, adamw_mode=mode, **settings)
    trace.write()


def lion():
    from lion_pytorch import Lion

    trace = Trace("lion", "lion-pytorch", "deepspeed", "torch")
    initial, grads = inputs(trace)
    for case, (kind, lr, settings) in {
        "plain": ("calm", 1e-3, {}),
        "decay": ("wild", 1e-2, {"weight_decay": exact(0.1)}),
        "short_memory": ("wild", 1e-2, {"betas": (0.5, 0.75), "weight_decay": exact(0.01)}),
    }.items():
        settings = {"betas": (exact(0.9), exact(0.99)), "weight_decay": 0.0} | settings
        make = {"for_loop": lambda p: Lion(p, lr=1.0, **settings)}
        record_case(trace, case, make, initial, grads[kind], [exact(lr)] * STEPS, **settings)
    # Fault of another package: to DeepSpeed the sign of 0 is that of its sign bit, so rows without gradient drift.
    from deepspeed.ops.lion import DeepSpeedCPULion

    zero = [[torch.zeros(4)]] * 3
    settings = {"betas": (exact(0.9), exact(0.99)), "weight_decay": 0.0}
    for name, cls in {"untouched": Lion, "untouched_deepspeed": DeepSpeedCPULion}.items():
        record_case(trace, name, {"for_loop": lambda p: cls(p, lr=1.0, **settings)}, [torch.full((4,), 0.5)], zero,
                    [exact(1e-2)] * 3, **settings)
    trace.write()
