"""Run folders to compare: each benchmark with the rates of its launches."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from milabench_ddp.report.comparison.ratios import Pair
from milabench_ddp.report.statistics.interval import Series
from tests.support.described_runs import MACHINE, META
from tests.support.result_files import config, end, line, rates, start, write, write_state

STEPS = 60


def launched(
    folder: Path,
    benchmarks: Mapping[str, Sequence[float]],
    *,
    meta: Any = None,
    failed: Mapping[str, str] | None = None,
    preset: str = "full",
    unit: str = "items/s",
    **header: Any,
) -> Path:
    """A run of benchmarks, by the mean rates of their launches; ``failed`` ones by their reason."""
    failed = failed or {}
    outcomes = {name: "failed" if name in failed else "ok" for name in (*benchmarks, *failed)}
    suite = {name: {"argv": {"--batch-size": 32}} for name in outcomes}
    header = {"machine": deepcopy(MACHINE), "milabench": "0.1", "suite": suite, **header}
    write_state(folder, "failed" if failed else "ok", outcomes, preset=preset, **header)
    told = line("meta", deepcopy(META) if meta is None else meta)
    for name, means in benchmarks.items():
        for k, mean in enumerate(means):
            words = [name, f"R{k}", "D0"] if len(means) > 1 else [name, "D0"]
            settings = config(name, device=0, devices=[0], tag=words)
            seen = rates(steps_around(mean, k), units=unit)
            write(folder, ".".join(words), settings, told, start(k), seen, end(0, outcome="ok"))
    for name, reason in failed.items():
        settings = config(name, device=0, devices=[0], tag=[name, "D0"])
        lost = end(1, outcome="failed", reason=reason)
        write(folder, f"{name}.D0", settings, told, start(), lost)
    return folder


def steps_around(mean: float, seed: int, count: int = STEPS) -> list[float]:
    """Steady rates whose mean over time is ``mean``, and which differ by 1 %."""
    found = 1 + 0.01 * np.random.default_rng(seed).standard_normal(count)
    return [float(mean * rate * np.mean(1 / found)) for rate in found]


def series(mean: float, seed: int = 0, count: int = STEPS) -> Series:
    """Such rates as the steady state of a process."""
    seen = tuple(steps_around(mean, seed, count))
    return Series(seen, tuple(1 / rate for rate in seen))


def pair(
    before: Sequence[float], after: Sequence[float], *history: Sequence[float], count: int = STEPS
) -> Pair:
    """What a benchmark measured, by the mean rates of its launches."""
    made = []
    for means in (before, after, *history):
        made.append([[series(mean, k, count)] for k, mean in enumerate(means)])
    return Pair(made[0], made[1], made[2:])
