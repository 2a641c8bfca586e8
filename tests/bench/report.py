# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/performance.md."""
NAMES = {
    "ours": "halfstep",
    "hand": "hand-written kernel",
    "torch_fused": "torch fused AdamW alone, fp32",
    "torch": "torch: copy, GradScaler, clip, fused AdamW, copy",
    "deepspeed": "DeepSpeed: copy, check, norm, scale, CPUAdam, copy",
}
TIMES = {"1e4": "10^4", "1e6": "10^6", "1e8": "10^8", "tiny": "10,000 × 100"}
VARIANTS = {
    "ns_per_tiny_tensor": "10,000 tensors of 100 elements: nanoseconds a tensor",
    "vs_torch_tiny": "the same: torch's time over ours",
    "vs_torch_1e4": "one tensor of 10^4 elements: torch's time over ours",
    "threads2_over_1": "10^8: one thread's time over that of two",
    "stochastic_over_nearest": "bf16: stochastic rounding's time over nearest rounding's",
    "denormal_over_normal": "moments decayed to subnormals over normal ones",
    "denormal_first_over_normal": "the same, the one step that still meets subnormals",
}


def versions(torch, skipped):
    found = []
    if torch is not None:
        found.append(f"torch {torch.__version__}")
        if "deepspeed" not in skipped:
            import deepspeed
            found.append(f"DeepSpeed {deepspeed.__version__}")
    return ", ".join(found)


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "processor unknown"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def tables(step_rounds, figures, skipped, peer_versions):
    columns = list(step_rounds)
    head = ["nanoseconds a parameter, median"] + [f"{TIMES[size]}, {threads} thread{'s' * (threads > 1)}" for size, threads in columns]
    rows = [[label] + [f"{step_rounds[c].nanoseconds(name):.3g}" if name in step_rounds[c].seconds else "–" for c in columns]
            for name, label in NAMES.items() if any(name in step_rounds[c].seconds for c in columns)]
    rows.append(["halfstep: share of the memory-only loop"] + [f"{step_rounds[c].roof_share('ours'):.2f}" for c in columns])
    rows.append(["halfstep over hand-written"] + [f"{step_rounds[c].ratio('ours', 'hand'):.2f}" for c in columns])
    for peer, label in (("torch", "torch over halfstep"), ("deepspeed", "DeepSpeed over halfstep")):
        if any(peer in step_rounds[c].seconds for c in columns):
            rows.append([label] + [f"{step_rounds[c].ratio(peer, 'ours'):.1f}" if peer in step_rounds[c].seconds else "–"
                                   for c in columns])
    notes = [processor(), peer_versions] + [f"left out: {NAMES[name]} ({reason})" for name, reason in skipped.items()]
    text = "## step\n\n" + table(head, rows) + "\n" + "; ".join(n for n in notes if n) + ".\n"
    rows = [[label, f"{figures[name]:.3g}"] for name, label in VARIANTS.items() if name in figures]
    if rows:
        text += "\n## variants\n\n" + table(["what", "value"], rows)
    return text
