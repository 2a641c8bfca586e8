#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""halfstep's step on tensors of torch, through the shared library of step_c.h: true fp16, the loss scale on the device.

    adamw.py build/cuda/examples/torch_extension/libhalfstep_step_cuda.so [--cpu]

--cpu takes libhalfstep_step_host.so and the processor. Fits a line; prints loss, loss scale and skipped steps.
"""
import ctypes
import sys


class Record(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("step", "applied_steps", "skipped_steps")] + [
        ("gradient_norm", ctypes.c_double), ("loss_scale", ctypes.c_float), ("next_loss_scale", ctypes.c_float),
        ("applied", ctypes.c_int32)]


class AdamW:
    """Over tensors that have gradients already; both are bound where they lie."""

    def __init__(self, torch, library, parameters, recipe="fp16_adamw"):
        self._library, self._parameters, self._handle = ctypes.CDLL(library), list(parameters), ctypes.c_void_p()
        device = self._parameters[0].device
        dtype = {"fp16_adamw": torch.float16, "bf16_adamw": torch.bfloat16, "fp32_adamw": torch.float32}[recipe]
        if any(p.dtype != dtype or p.device != device or not p.is_contiguous() for p in self._parameters):
            raise ValueError(f"{recipe} takes dense tensors of {dtype} on one device")
        stream = torch.cuda.current_stream().cuda_stream if device.type == "cuda" else None
        sizes = (ctypes.c_int64 * len(self._parameters))(*(p.numel() for p in self._parameters))
        self._call("create", ctypes.byref(self._handle), recipe.encode(), ctypes.c_size_t(len(sizes)),
                   self._addresses(self._parameters), self._addresses(p.grad for p in self._parameters), sizes, ctypes.c_void_p(stream))
        scale = ctypes.POINTER(ctypes.c_float)()
        self._call("loss_scale", self._handle, ctypes.byref(scale))
        address = ctypes.cast(scale, ctypes.c_void_p).value
        if device.type == "cuda":  # a tensor that lies where the loss scale does: multiplying by it does not wait
            interface = {"shape": (), "typestr": "<f4", "data": (address, False), "version": 3}
            self.loss_scale = torch.as_tensor(type("Scale", (), {"__cuda_array_interface__": interface})(), device=device)
        else:
            self.loss_scale = torch.frombuffer((ctypes.c_float * 1).from_address(address), dtype=torch.float32)[0]

    def _call(self, name, *arguments):
        function = getattr(self._library, "halfstep_" + name)
        function.restype = ctypes.c_char_p
        sentence = function(*arguments)
        if sentence is not None:
            raise RuntimeError(sentence.decode())

    @staticmethod
    def _addresses(tensors):
        addresses = [None if t is None else t.data_ptr() for t in tensors]
        return (ctypes.c_void_p * len(addresses))(*addresses)

    def step(self, lr):
        self._call("set_gradients", self._handle, self._addresses(p.grad for p in self._parameters))
        self._call("step", self._handle, ctypes.c_float(lr), None)

    def read_back(self):
        record = Record()
        self._call("read_back", self._handle, ctypes.byref(record))
        return record

    def close(self):
        self._call("destroy", self._handle)


def main(library, on_cpu):
    try:
        import torch
    except ImportError:
        return print("skipped: no torch here")
    if not on_cpu and not torch.cuda.is_available():
        return print("skipped: torch has no GPU here")
    device = "cpu" if on_cpu else "cuda"
    torch.manual_seed(0)
    line = torch.nn.Linear(64, 1, device=device, dtype=torch.float16)
    wanted = torch.randn(1, 64, device=device)
    for p in line.parameters():
        p.grad = torch.zeros_like(p)
    opt = AdamW(torch, library, line.parameters())
    for i in range(200):
        x = torch.randn(256, 64, device=device)
        loss = ((line(x.half()).float() - x @ wanted.T) ** 2).mean()
        line.zero_grad(set_to_none=False)
        (loss * opt.loss_scale).backward()
        opt.step(0.05)
        if (i + 1) % 50 == 0:
            r = opt.read_back()
            print(f"step {r.step}  loss {loss.item():.5f}  loss scale {r.next_loss_scale:g}  skipped {r.skipped_steps}")
    opt.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], "--cpu" in sys.argv[2:])
