#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the traces of the real packages anew: `record.py`, or `record.py SUBJECT…`. See README.md."""
import importlib
import os
import sys

sys.setdlopenflags(os.RTLD_LAZY)  # a CUDA build of torch on a machine without CUDA's libraries
os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # torchao as it is written, without compiling it

SUBJECTS = {
    "grad_scaler": "grad_scaler.record",
    "loss_scaler": "loss_scaler.record",
    "adamw": "rules.adamw",
    "adam": "rules.adam",
    "sgd": "rules.sgd",
    "adagrad": "rules.adagrad",
    "cpu_adam": "rules.cpu_adam",
    "lion": "rules.lion",
    "clip_grad_norm": "clipping.record",
    "mixed": "mixed.record",
    "rounding": "rounding.record",
    "kahan": "kahan.record",
}


def main():
    import torch

    torch.set_num_threads(1)
    for subject in sys.argv[1:] or SUBJECTS:
        module, function = SUBJECTS[subject].split(".")
        getattr(importlib.import_module("recorder." + module), function)()


if __name__ == "__main__":
    main()
