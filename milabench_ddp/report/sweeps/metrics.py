"""The metrics of a table: one number for each benchmark, some with a spread.

The spread of metrics that are proportional to a rate is that of the rate over launches alone: the
cells of a sweep are there to be compared. The spread of a number that programs tell is its standard
deviation over processes, ranks and repeats.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...errors import SelectionError, did_you_mean
from ...table import Measured
from ..clocks import sm_clock
from ..energy import UNKNOWN, energy_of_row
from ..model import Row, Rows
from ..statistics.values import NAN, median
from ..tables import TABLES
from ..told import Told
from .efficiency import Efficiency, efficiencies, ideals

EFFICIENCY = "efficiency"
UNTOLD = Told((NAN,))
OVER_LAUNCHES = "half of its 95 % interval over launches (a single launch has none)"
Number = Callable[[Row], float]


@dataclass(frozen=True)
class Metric:
    """A metric: what it means, how to calculate it for a benchmark, and how to show it."""

    meaning: str
    value: Number
    spread: Number = lambda _: NAN
    note: Callable[[Row], str] = lambda _: ""
    format: str = ".4g"  # without a known spread: four digits, but all before the point
    stdev: Number = lambda _: NAN  # of the steps behind the value; only CSV shows it

    def shown(self, row: Row) -> str:
        """The number as text: ``0.93 ±0.04``; empty if it is not known."""
        value = self.value(row)
        if not math.isfinite(value):
            return ""
        return Measured(value, self.spread(row), with_error=True).text(self.format)


def _proportional(meaning: str, value: Number, format: str = ".4g") -> Metric:
    """A metric that is proportional to the rate, and is as uncertain."""
    return Metric(
        f"{meaning}, and {OVER_LAUNCHES}",
        value,
        lambda row: value(row) * row.half_width_over_launches,
        format=format,
    )


def _step_stdev(row: Row) -> float:
    return median(rank.std for rank in row.timed)


METRICS: Mapping[str, Metric] = {
    "throughput": _proportional(
        "units per second of all devices together", lambda row: row.throughput
    ),
    "latency": Metric(
        "ms of a step, the median of ranks' medians", lambda row: row.step_ms, stdev=_step_stdev
    ),
    "latency_stdev": Metric("ms, the deviation of a rank's steps, median over ranks", _step_stdev),
    "memory": Metric("MiB, the most in use on a device", lambda row: row.peak_memory),
    "allocated": Metric("MiB, the most that a rank allocated", lambda row: row.allocated),
    "reserved": Metric("MiB, the most that a rank reserved", lambda row: row.reserved),
    "joules": Metric(
        "J of the GPU boards for a unit of work, and half of the 95 % interval by their sensors",
        lambda row: (energy_of_row(row) or UNKNOWN).joules,
        lambda row: (energy_of_row(row) or UNKNOWN).error,
    ),
    "sm_clock": Metric(
        "MHz, the mean SM clock of the devices in the measured steps",
        lambda row: sm_clock(row.measuring),
        format=".0f",
    ),
    "mfu": _proportional(
        "model FLOPs, relative to the measured peak", lambda row: row.used.mfu, format=".1%"
    ),
    "perf": _proportional("units per second of a process", lambda row: row.perf),
    "score": _proportional(
        "units per second of the machine, less what failed", lambda row: row.score
    ),
    "sem": Metric("standard error of perf, as a fraction", lambda row: row.sem),
    "std": Metric("deviation of perf's observations, as a fraction", lambda row: row.std),
}


def metric_of(name: str, rows: Rows, is_usable: Callable[[Row], bool]) -> Metric:
    """The metric of this name: one of ``METRICS``, efficiency, or a number that programs reported.

    Args:
        name: of the metric.
        rows: the benchmarks of the table.
        is_usable: whether a benchmark's results count for efficiency.

    Raises:
        SelectionError: no benchmark has such a number.
    """
    if name == EFFICIENCY:
        return _efficiency_metric(rows, is_usable)
    if name in METRICS:
        return METRICS[name]
    reported: set[str] = set()
    for row in rows:
        reported |= reported_numbers(row).keys()
    if name in reported:
        return Metric(
            "the mean of what the programs reported, and the standard deviation over processes, "
            "ranks and repeats",
            lambda row: reported_numbers(row).get(name, UNTOLD).mean,
            lambda row: reported_numbers(row).get(name, UNTOLD).std,
        )
    known = {*METRICS, *TABLES, EFFICIENCY, *reported}
    raise SelectionError(
        f"--table {name}: no benchmark reports it{did_you_mean(name, known)}; "
        f"choose from {', '.join(sorted(known))}"
    )


def reported_numbers(row: Row) -> dict[str, Told]:
    """The numbers that the programs of a benchmark reported, by their names.

    The shares of the parts of a step are those of the steady state.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for rank in row.ranks:
        for part, share in rank.shares.items():
            shares[part].append(share)
    return {**row.told, **{part: Told(tuple(found)) for part, found in shares.items()}}


def _efficiency_metric(rows: Rows, is_usable: Callable[[Row], bool]) -> Metric:
    found = efficiencies(rows, is_usable)

    def of(row: Row) -> Efficiency:
        return found.get(row.name, Efficiency())

    return Metric(
        f"of {ideals(rows)}, and {OVER_LAUNCHES}",
        lambda row: of(row).value,
        lambda row: of(row).spread,
        lambda row: of(row).note,
        ".2f",
    )
