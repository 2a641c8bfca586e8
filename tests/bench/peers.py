# SPDX-License-Identifier: Apache-2.0
"""The peers' steps as one writes them with their packages: fp16 gradients in, fp16 weights out, fp32 masters."""
import math

LOSS_SCALE = 65536.0
ADAMW = {"lr": 1e-4, "weight_decay": 0.01}


def import_torch():
    try:
        import torch
    except ImportError:
        return None
    return torch


def _masters(torch, gradients, parameters):
    masters = [torch.nn.Parameter(p.float()) for p in parameters]
    for master, gradient in zip(masters, gradients):
        master.grad = gradient.float()
    return masters


def fused_alone(torch, gradients, parameters):
    """torch's fused AdamW on fp32 parameters with fp32 gradients: no check, no clipping, no copies. 28 bytes a parameter."""
    return torch.optim.AdamW(_masters(torch, gradients, parameters), fused=True, **ADAMW).step


def torch_pipeline(torch, gradients, parameters):
    """Copy to fp32, unscale with check, clip by norm, fused AdamW, update of the scale, copy to fp16."""
    masters = _masters(torch, gradients, parameters)
    optimizer = torch.optim.AdamW(masters, fused=True, **ADAMW)
    scaler = torch.amp.GradScaler("cpu", init_scale=LOSS_SCALE)
    scaler.scale(torch.ones(()))  # makes its state
    master_data, master_gradients = [m.data for m in masters], [m.grad for m in masters]

    def step():
        torch._foreach_copy_(master_gradients, gradients)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(masters, 1.0, foreach=True)
        scaler.step(optimizer)
        scaler.update()
        torch._foreach_copy_(parameters, master_data)

    return step


def deepspeed_sequence(torch, gradients, parameters):
    """The order of ZeRO-Offload: copy to fp32, check by the sum, norm, one factor for scale and clipping, CPUAdam, copy."""
    from deepspeed.ops.adam import DeepSpeedCPUAdam
    masters = _masters(torch, gradients, parameters)
    optimizer = DeepSpeedCPUAdam(masters, adamw_mode=True, **ADAMW)
    master_data, master_gradients = [m.data for m in masters], [m.grad for m in masters]

    def step():
        torch._foreach_copy_(master_gradients, gradients)
        if not math.isfinite(sum(float(g.sum()) for g in master_gradients)):
            return
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(master_gradients)))) / LOSS_SCALE
        torch._foreach_mul_(master_gradients, 1.0 / (LOSS_SCALE * max(1.0, norm + 1e-6)))
        optimizer.step()
        torch._foreach_copy_(parameters, master_data)

    return step


STEPS = {"torch_fused": fused_alone, "torch": torch_pipeline, "deepspeed": deepspeed_sequence}
