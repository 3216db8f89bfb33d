"""A trace of a few steps, in Chrome's format: for chrome://tracing or ui.perfetto.dev."""

import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

STEPS = 3  # seen; one before them warms the profiler up

_ACTIVITIES = {"cuda": ProfilerActivity.CUDA, "xpu": ProfilerActivity.XPU}


def trace(name: str, rank: int, device: torch.device, step: Callable[[], object]) -> Path:
    """Run ``step`` a few times under the profiler, and write what it saw of this rank.

    The file is ``<name>.rank<rank>.trace.json`` in the folder ``MILABENCH_TRACES``, else the
    current one.
    """
    activities = [ProfilerActivity.CPU]
    if device.type in _ACTIVITIES:
        activities.append(_ACTIVITIES[device.type])
    folder = Path(os.environ.get("MILABENCH_TRACES") or ".")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.rank{rank}.trace.json"
    step()
    with profile(activities=activities, acc_events=True) as seen:  # of the one cycle there is
        for k in range(STEPS):
            with torch.profiler.record_function(f"step {k}"):
                step()
    seen.export_chrome_trace(str(path))
    return path
