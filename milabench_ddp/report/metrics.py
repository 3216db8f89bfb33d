"""The numbers that a table can show: of each benchmark one, with its spread where it has one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import SelectionError, did_you_mean
from ..results.records import is_finite
from .efficiency import efficiencies, scaling
from .model import NAN, Report, Row
from .sections import BY_NAME
from .states import state, succeeded

EFFICIENCY = "efficiency"


@dataclass(frozen=True)
class Metric:
    """A number of a benchmark, what it is, and how it is shown."""

    name: str
    meaning: str
    value: Callable[[Row], float]
    spread: Callable[[Row], float] = lambda _: NAN
    note: Callable[[Row], str] = lambda _: ""
    format: str = ""  # empty: four digits, and all before the point

    def shown(self, row: Row) -> str:
        """The number for a person: ``0.93 ±0.02``; empty where there is none."""
        value, spread = self.value(row), self.spread(row)
        if not math.isfinite(value):
            return ""
        if self.format:
            text = format(value, self.format)
        else:
            text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        return f"{text} ±{format(spread, self.format)}" if spread > 0 else text


def _told_memory(name: str) -> Callable[[Row], float]:
    def largest(row: Row) -> float:
        values = (getattr(member, name) for member in row.members)
        return max((value for value in values if not math.isnan(value)), default=NAN)

    return largest


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("throughput", "units per second of all devices together", lambda r: r.throughput),
        Metric("latency", "ms of a step, the median of ranks' medians", lambda r: r.step_ms),
        Metric("memory", "MiB, the most in use on a device", lambda r: r.peak_memory),
        Metric("allocated", "MiB, the most that a rank allocated", _told_memory("allocated")),
        Metric("reserved", "MiB, the most that a rank reserved", _told_memory("reserved")),
        Metric("mfu", "model FLOPs, of the measured peak", lambda r: r.mfu, format=".1%"),
        Metric("perf", "units per second of a process", lambda r: r.perf),
        Metric("score", "units per second of the machine, less what failed", lambda r: r.score),
        Metric("sem", "standard error of perf, as a fraction", lambda r: r.sem),
        Metric("std", "deviation of perf's observations, as a fraction", lambda r: r.std),
    )
}  # fmt: skip


def metric_of(report: Report, name: str, table: Sequence[Row]) -> Metric:
    """The metric of a name: one of ``METRICS``, efficiency, or what the programs themselves told.

    Raises:
        SelectionError: no benchmark has such a number.
    """
    if name == EFFICIENCY:
        return _efficiency(report, table)
    if name in METRICS:
        return METRICS[name]
    if any(name in told(row) for row in table):
        return Metric(name, "as the programs told it", lambda row: told(row).get(name, NAN))
    known = {*METRICS, *BY_NAME, EFFICIENCY, *(key for row in table for key in told(row))}
    raise SelectionError(
        f"--table {name}: no benchmark tells it{did_you_mean(name, known)}; "
        f"known are {', '.join(sorted(known))}"
    )


def told(row: Row) -> dict[str, float]:
    """The numbers that a program told of itself, by their names."""
    return {
        key: float(value)
        for group in ("model", "shares", "correctness")
        for key, value in row.told(group).items()
        if is_finite(value)
    }


def _efficiency(report: Report, table: Sequence[Row]) -> Metric:
    def usable(row: Row) -> bool:
        return state(report, row) is None or succeeded(row)[0] > 0

    found = efficiencies(table, usable)

    def note(row: Row) -> str:
        of = found.get(row.name)
        if of is None or of.base == of.fewest:
            return ""
        return f"against {of.base} nodes: the point of {of.fewest} has no throughput"

    kinds = " and ".join(sorted({scaling(row) for row in table}))
    return Metric(
        EFFICIENCY,
        f"of the throughput of the fewest nodes, times nodes ({kinds} scaling), and half of its "
        "95 % interval",
        lambda row: found[row.name].value if row.name in found else NAN,
        lambda row: found[row.name].spread if row.name in found else NAN,
        note,
        ".2f",
    )
