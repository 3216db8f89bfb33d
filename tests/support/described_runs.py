"""Run folders that say on what they were measured, each different in one thing."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.rates import noisy
from tests.support.result_files import config, end, line, rates, start, write, write_state

GPU = {
    "product": "NVIDIA H100",
    "uuid": "GPU-1",
    "memory": {"used": 1.0, "total": 81559.0},
    "power_limit": 700.0,
    "ecc": True,
}
META = {
    "os": {"nodename": "node1", "release": "6.1"},
    "cpu": {"count": 96, "brand": "AMD EPYC 9654"},
    "accelerators": {"arch": "cuda", "driver": "580.95", "gpus": {"0": GPU, "1": GPU}},
    "milabench": {"tag": "v1", "commit": "a" * 40, "date": "2026-11-01"},
    "pytorch": {"torch": "2.15.0+cu132", "cuda": "13.2", "nccl": "2.30.7", "cudnn": "9.26"},
}
MACHINE = {
    "milabench": {"version": "0.1", "dirty": False},
    "packages": {"torch": "2.15.0", "triton": "3.9.0", "transformers": "5.23.0", "voir": "0.2"},
    "python": "CPython 3.11.7",
    "environment": {"NCCL_ALGO": "Ring", "OMP_NUM_THREADS": "4", "SLURM_JOB_ID": "1"},
}
SETTINGS = {
    "program": "/one/checkout/benchmarks/gpt/main.py",
    "argv": {"--batch-size": 32, "--amp": True},
    "num_machines": 1,
    "weight": 1.0,
    "max_duration": 600,
}


@dataclass
class Facts:
    """What a run records; a test changes some of it."""

    meta: Any = field(default_factory=lambda: deepcopy(META))
    machine: Any = field(default_factory=lambda: deepcopy(MACHINE))
    settings: Any = field(default_factory=lambda: deepcopy(SETTINGS))
    preset: str = "full"
    version: str = "0.1"
    devices: int = 2
    speed: float = 100.0


Change = Callable[[Facts], object]


def measured(folder: Path, facts: Facts | None = None, seed: int = 1) -> Path:
    facts = facts or Facts()
    write_state(
        folder,
        "ok",
        {"b": "ok"},
        preset=facts.preset,
        milabench=facts.version,
        machine=facts.machine,
        suite={"b": facts.settings},
    )
    for device in range(facts.devices):
        tagged = config("b", device=device, devices=[device], tag=["b", f"D{device}"])
        values = rates(noisy(60, 0.0, seed + device, facts.speed))
        meta = line("meta", facts.meta)
        write(folder, f"b.D{device}", tagged, meta, start(), values, end(0, outcome="ok"))
    return folder


def changed(folder: Path, *changes: Change) -> Path:
    facts = Facts()
    for change in changes:
        change(facts)
    return measured(folder, facts, seed=11)


def to(place: str, value: object) -> Change:
    """Replace what stands at a place such as ``meta.cpu.count``."""
    first, *keys = place.split(".")

    def change(facts: Facts) -> None:
        if not keys:
            setattr(facts, first, value)
            return
        inner = getattr(facts, first)
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change
