"""Our own statistics of a benchmark, from the steady state of each of its processes.

Left out are observations that the program marked as warm-up and, of the rest, those before the
steady state (see ``steady``). What remains gives, for each process, total units over total time:
its observations' rates, weighted by their durations where the program says how many steps each
covers, equally where it does not (milabench's cover equal times). ``perf`` is the mean of that over
the processes, as milabench means it; ``std`` the spread of all steady observations around their
mean; ``sem`` how sure ``perf`` is (see ``interval``).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..results.records import TABLES, Observation, Record, Run, is_rate
from . import compat, steady
from .interval import Interval, Series, interval, mean
from .member import Member
from .model import NAN, Row
from .outcomes import Ending, of_process
from .place import Place, place


@dataclass(frozen=True)
class Process:
    """A process of a benchmark, and what it measured."""

    run: Run
    record: Record
    ending: Ending

    @classmethod
    def of(cls, run: Run, record: Record) -> "Process":
        """The process that a file of a run is about."""
        return cls(run, record, of_process(record, run))

    @cached_property
    def measured(self) -> list[Observation]:
        """What is neither marked as warm-up nor damaged."""
        return [o for o in self.record.rates if not o.warmup and is_rate(o.rate)]

    @cached_property
    def steady(self) -> steady.Steady:
        """Where its steady state begins, as an index of ``measured``."""
        return steady.find([float(o.rate) for o in self.measured])

    @cached_property
    def series(self) -> Series | None:
        """Its steady observations; None where it has none."""
        kept = self.measured[self.steady.start :]
        if not kept:
            return None
        rates = tuple(float(o.rate) for o in kept)
        if all(o.steps and o.rate > 0 for o in kept):
            # every step does the same work, so an observation took as long as this, in some unit
            return Series(rates, tuple((o.steps or 1) / o.rate for o in kept))
        return Series(rates, (1.0,) * len(rates))

    @cached_property
    def unsteady_steps(self) -> int:
        """How many of the steps not marked as warm-up came before the steady state; 0 if unknown.

        An observation can be of many steps; all ranks of a process make them together.
        """
        before = self.measured[: self.steady.start]
        return sum(o.steps or 0 for o in before) if all(o.steps for o in before) else 0

    @property
    def launch(self) -> tuple[str, str]:
        """What it shares with the processes that were started with it."""
        return str(self.run.path), self.record.repeat


def row(
    processes: Sequence[Process],
    weight: float | None,
    missing: int = 0,
    members: Sequence[Member] = (),
) -> Row:
    """The row of a benchmark.

    Args:
        processes: all of it that left a file, at least one.
        weight: that of the configuration that was given; None for the recorded one.
        missing: how many failures there are beside those of the processes.
        members: its ranks or devices.
    """
    records = [process.record for process in processes]
    config = records[-1].config
    with_series = [(p, p.series) for p in processes if p.series is not None]
    launches: dict[tuple[str, str], list[Series]] = {}
    for process, series in with_series:
        launches.setdefault(process.launch, []).append(series)
    groups = [launches[key] for key in sorted(launches)]
    perf = mean(groups) if groups else NAN
    sure = interval(groups) if groups else None
    failures = missing + sum(process.ending.failed for process in processes)
    peak, source = _peak_memory(records)
    whole = _sum_over_devices(with_series)
    n = len(processes)
    return Row(
        name=records[-1].name,
        fail=failures,
        n=n,
        ngpu=max(map(_ngpu, records)),
        perf=perf,
        sem=compat.ratio(sure.sem, perf) if sure else NAN,
        std=compat.ratio(_spread(groups), perf),
        peak_memory=peak,
        score=(whole if whole > 0 else perf) * max(0.0, 1 - failures / n),
        weight=compat.recorded_weight(config) if weight is None else weight,
        enabled=weight is not None or bool(config.get("enabled", True)),
        unit=next((record.units for record in records if record.units), ""),
        details=_details(processes, sure, source),
        config=config,
        members=tuple(members),
        tables={key: found for key in TABLES if (found := _table(records, key))},
    )


def _ngpu(record: Record) -> int:
    """Devices of a process that is alone on its device, or of a job on all its nodes."""
    return 1 if record.config.get("device") is not None else compat.ngpu(record.config)


def _spread(groups: Sequence[Sequence[Series]]) -> float:
    rates = [rate for group in groups for series in group for rate in series.rates]
    return statistics.pstdev(rates) if rates else NAN


def _sum_over_devices(processes: Sequence[tuple[Process, Series]]) -> float:
    """What the devices of the machine do together, where each has processes of its own."""
    devices: dict[Place, list[float]] = {}
    for process, series in processes:
        if process.record.config.get("device") is not None:
            devices.setdefault(place(process.record, 0), []).append(series.mean)
    return math.fsum(statistics.fmean(means) for means in devices.values())


def _peak_memory(records: Sequence[Record]) -> tuple[float, str]:
    """The most memory in use on a device in MiB, and who says so.

    The greatest sample, where milabench drops the greatest as if it were an error of measurement.
    """
    peaks = [
        sample[0]
        for record in records
        for key, samples in record.samples.items()
        if record.config.get("device") is None or key == str(record.config["device"])
        for sample in compat.used(samples)
    ]
    if peaks:
        return max(peaks), "device"
    reserved = [rank.reserved for record in records for rank in record.ranks.values()]
    return max((peak for peak in reserved if not math.isnan(peak)), default=NAN), "program"


def _details(processes: Sequence[Process], sure: Interval | None, source: str) -> dict[str, Any]:
    kept = [p.series for p in processes if p.series is not None]
    return {
        "interval": [sure.low, sure.high] if sure else None,
        "observations": sum(len(series.rates) for series in kept),
        "warmup_marked": sum(o.warmup for p in processes for o in p.record.rates),
        "warmup_detected": sum(p.steady.start for p in processes),
        "peak_memory_source": source or None,
        "reporting": len(kept),
        "launches": len({p.launch for p in processes if p.series is not None}),
        "facts": _facts([process.record for process in processes]),
        "processes": [_process(process) for process in processes],
    }


def _facts(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """What the programs told of themselves; of several processes, the last one that did."""
    return {key: value for record in records for key, value in record.facts.items()}


def _table(records: Sequence[Record], key: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(told for record in records for told in record.tables.get(key, ()))


def _process(process: Process) -> Mapping[str, Any]:
    series = process.series
    return {
        "run": process.run.name,
        "repeat": process.record.repeat or None,
        "tag": process.record.tag,
        "device": process.record.config.get("device"),
        "outcome": process.ending.outcome,
        "reason": process.ending.reason,
        "perf": series.mean if series else NAN,
        "std": statistics.pstdev(series.rates) if series else NAN,
        "observations": len(series.rates) if series else 0,
        "warmup_marked": sum(o.warmup for o in process.record.rates),
        "warmup_detected": process.steady.start,
        "steady": not process.steady.problem,
        "seconds": process.record.seconds,
    }
