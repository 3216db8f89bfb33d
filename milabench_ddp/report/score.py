"""The score of a benchmark, and that of a suite as a value; ``suite_score`` calculates it."""

import math
from collections import defaultdict
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from ..codec import about
from ..errors import count_text, shown_names
from ..table import Measured
from .process import Processes, ProcessResult, is_bandwidth, units_of
from .ranks.rank_summary import rank_id
from .statistics.values import NAN, mean


class BenchmarkScore(Struct, frozen=True):
    """What the score of a suite is the mean of; with a baseline, ratios to it."""

    name: str
    unit: str
    weight: float
    score: Annotated[float, about("0 if the benchmark failed as a whole")]
    error: Annotated[float, about("half of the 95 % interval of score")]
    per_watt: Annotated[float, about("units of work for a joule; null without its energy")]


class Score(Struct, frozen=True):
    """One number for all benchmarks of a suite; NaN and the reason if there is none."""

    value: float = NAN
    reason: str = ""
    baseline: Path | None = None  # the run that it is relative to; None with milabench's formula
    benchmarks: tuple[BenchmarkScore, ...] = ()  # empty with milabench's formula
    failed: tuple[str, ...] = ()  # benchmarks that failed as a whole, and count as 0
    of_others: float = NAN  # the score without those
    half_width: float = NAN  # of the 95 % interval of that, as a fraction
    per_watt: float = NAN  # of the benchmarks whose energy is known
    no_rates: tuple[str, ...] = ()  # benchmarks that ended, and whose rates are no number

    @property
    def is_told(self) -> bool:
        return bool(self.no_rates) or self.baseline is not None or not math.isnan(self.value)

    @property
    def told(self) -> str:
        if math.isnan(self.value):
            return f"none: {self.reason}"
        if not self.benchmarks and self.baseline is None:  # by milabench's formula
            return f"{self.value:.2f}"
        of = f" of {self.baseline}" if self.baseline else ""
        value = Measured(self.value, self.value * self.half_width, with_error=True)
        told = [f"{value.text('.3f')}{of}"]
        if self.baseline is None:
            all_of = count_text(len(self.benchmarks), "benchmark")
            told = [f"{value.text(',.5g')}, the geometric mean of {all_of}"]
        if self.failed:
            names = shown_names(self.failed, 3)
            rest = Measured(self.of_others, self.of_others * self.half_width, with_error=True)
            told = [f"{self.value:g}{of}, as {names} failed; without that {rest.text('.4g')}"]
        if not math.isnan(self.per_watt):
            known = sum(not math.isnan(each.per_watt) for each in self.benchmarks)
            count = len(self.benchmarks)
            part = f" ({known} of {count} benchmarks)" if known < count else ""
            told.append(f"for a watt {self.per_watt:.4g}{of}{part}")
        return "; ".join(told)


NO_SCORE = Score()


Place = tuple[str, int, int]  # the node, the job, and the device of a process alone on it


def machine_rate(processes: Processes) -> float:
    """Units per second of all devices together: the score; a process that failed counts as 0.

    It is the sum over jobs, or over devices that run a process each, of the mean over launches; NaN
    if nothing was measured, or in several units. Bandwidths do not add up: theirs is the mean over
    jobs.
    """
    failed_jobs = {_job(process) for process in processes if process.failed}
    rates: dict[Place, list[float]] = defaultdict(list)
    for process in processes:
        if not process.record.reports:
            continue
        if _job(process) in failed_jobs:
            rates[_place(process)].append(0.0)
        elif process.series is not None:
            rates[_place(process)].append(process.series.mean)
    if all(process.series is None for process in processes) or len(units_of(processes)) > 1:
        return NAN
    of_jobs = [mean(found) for found in rates.values()]
    return mean(of_jobs) if is_bandwidth(processes) else math.fsum(of_jobs)


def _place(process: ProcessResult) -> Place:
    id = rank_id(process.record, 0)
    if process.record.device is None and not process.record.is_of_each_node:
        return "", id.job, 0  # the processes of a job on several nodes are one
    return id.node, id.job, id.rank


def _job(process: ProcessResult) -> tuple[object, ...]:
    return *process.launch, *_place(process)
