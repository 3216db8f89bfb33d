"""Made-up runs in the order of time: folders, or the logarithms of rates alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.result_files import config, end, line, rates, start, write, write_state

DAY = 86400.0
Logs = np.ndarray  # shape (runs, devices)


def waving(
    seed: int, runs: int = 40, devices: int = 64, noise: float = 0.005, wave: float = 0.02
) -> Logs:
    """Devices that differ for good, and share a wave of four runs a day; noise for each run."""
    draw = np.random.default_rng(seed)
    hours = 6.0 * np.arange(runs)[:, None] + draw.uniform(0, 24)
    levels = 0.03 * draw.normal(size=devices)
    shared = wave * np.sin(2 * np.pi * hours / 24)
    return levels + shared + noise * draw.normal(size=(runs, devices))


def slowed(logs: Logs, device: int, run: int, by: float = 0.04) -> Logs:
    """The same with a device that is slower from a run on, counted from 1."""
    found = logs.copy()
    found[run - 1 :, device] += np.log1p(-by)
    return found


def write_run(
    folder: Path,
    number: int,
    speeds: Mapping[str, Mapping[str, float]],
    facts: Callable[[str], Mapping[str, Any]] = lambda _: {},
    **machine: Any,
) -> Path:
    """A run of benchmarks whose programs have a device each.

    Args:
        folder: where the run folders are.
        number: of the run, from 1: it begins on that day.
        speeds: the rate of each device, by benchmark and UUID; without UUIDs, by index.
        facts: more of what the driver tells of the device with a UUID.
        machine: more of ``meta``.
    """
    run = folder / f"r{number:02}"
    created = 1.8e9 + DAY * number
    write_state(run, "ok", dict.fromkeys(speeds, "ok"), created=created, ended=created + 600)
    for name, of_devices in speeds.items():
        gpus = {}
        for index, uuid in enumerate(of_devices):
            known = {"uuid": uuid} if uuid.startswith("GPU-") else {}
            gpus[str(index)] = {"product": "NVIDIA H100", **known, **facts(uuid)}
        accelerators = {"arch": "cuda", "gpus": gpus, **machine.pop("accelerators", {})}
        meta = {"os": {"nodename": "node1"}, "accelerators": accelerators, **machine}
        for index, rate in enumerate(of_devices.values()):
            head = config(name, device=index, devices=[index], tag=[name, f"D{index}"])
            begun = line("meta", meta) + start(created)
            values = rates([rate * 1.001, rate, rate * 0.999] * 3)
            write(run, f"{name}.D{index}", head, begun, values, end(0, created + 60, outcome="ok"))
    return run
