"""The metrics of a table: one number for each benchmark, some with a spread.

Efficiency says how well a benchmark scales, relative to N0, the fewest nodes that it ran on:

    efficiency(N) = throughput(N) / (throughput(N0) * N / N0)

Throughput is that of all nodes together. So the formula is the same for weak scaling (each device
keeps its batch size) and for strong scaling (all devices together keep theirs), but its meaning
differs. A bandwidth is that of each link and does not add up over nodes, so its efficiency is

    efficiency(N) = bandwidth(N) / bandwidth(N0)

The spread adds the half widths h of both 95 % intervals, relative to their values, as
independent errors: ``spread / efficiency = sqrt(h(N)^2 + h(N0)^2)`` (G. Y. Zou, A. Donner,
"Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008). They
are intervals over launches. A benchmark with a single launch has none: how much the steps of one
launch vary does not say how far the next launch will be.

The spread of other metrics that are proportional to a rate is that of the rate, also over launches
alone: the cells of a sweep are there to be compared. The spread of a number that programs tell is
its standard deviation over processes, ranks and repeats.
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
from ..pooling import PROGRAM
from ..statistics.values import NAN, median
from ..tables import TABLES
from ..told import Told
from .settings import NODES, matrix, nodes_of

EFFICIENCY = "efficiency"
WEAK = "weak"
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


@dataclass(frozen=True)
class Efficiency:
    """An efficiency, half the width of its 95 % interval, and the nodes that it is relative to."""

    value: float
    spread: float  # NaN if one of the two throughputs is of a single launch
    base: int  # nodes
    fewest: int  # nodes of the smallest combination of the sweep, which may have no throughput

    @property
    def note(self) -> str:
        """A remark if the base is not the combination with the fewest nodes, else empty."""
        if self.base == self.fewest:
            return ""
        return f"against {self.base} nodes: the point of {self.fewest} has no throughput"


UNKNOWN_EFFICIENCY = Efficiency(NAN, NAN, 1, 1)


def _efficiency_metric(rows: Rows, is_usable: Callable[[Row], bool]) -> Metric:
    found = efficiencies(rows, is_usable)

    def of(row: Row) -> Efficiency:
        return found.get(row.name, UNKNOWN_EFFICIENCY)

    return Metric(
        f"of {_ideals(rows)}, and {OVER_LAUNCHES}",
        lambda row: of(row).value,
        lambda row: of(row).spread,
        lambda row: of(row).note,
        ".2f",
    )


def _ideals(rows: Rows) -> str:
    """What benchmarks are compared with, in words."""
    ideals: list[str] = []
    kinds = sorted({scaling(row) for row in rows if not row.is_bandwidth})
    if kinds:
        ideals.append(
            f"the throughput of the fewest nodes, times nodes ({' and '.join(kinds)} scaling)"
        )
    if any(row.is_bandwidth for row in rows):
        ideals.append("the bandwidth of the fewest nodes")
    return ", or ".join(ideals)


def efficiencies(rows: Rows, is_usable: Callable[[Row], bool]) -> dict[str, Efficiency]:
    """The efficiency of each benchmark that has a throughput and usable results, by name."""
    found: dict[str, Efficiency] = {}
    for group in _sweeps_over_nodes(rows):
        measured = [row for row in group if row.throughput > 0 and is_usable(row)]
        if measured:
            base = min(measured, key=nodes_of)
            fewest = min(map(nodes_of, group))
            found |= {row.name: _efficiency(row, base, fewest) for row in measured}
    return found


def _sweeps_over_nodes(rows: Rows) -> list[list[Row]]:
    """The combinations that differ only in their nodes.

    Two matrices may have the same axes: where a number of nodes comes twice, the options tell them
    apart. What then lacks the fewest nodes, as if its options depended on them, is in no sweep.
    """
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[_settings_but_nodes(row)].append(row)
    sweeps = []
    for group in groups.values():
        if _has_each_once(group):
            sweeps.append(group)
            continue
        fewest = min(map(nodes_of, group))
        alike: dict[str, list[Row]] = defaultdict(list)
        for row in group:
            alike[_options(row)].append(row)
        for part in alike.values():
            if _has_each_once(part) and min(map(nodes_of, part)) == fewest:
                sweeps.append(part)
    return sweeps


def _has_each_once(rows: Rows) -> bool:
    """Whether each number of nodes comes once."""
    return len(set(map(nodes_of, rows))) == len(rows)


def scaling(row: Row) -> str:
    """``weak`` or ``strong``, as the configuration says."""
    return str(matrix(row).get("scaling") or row.config.get("scaling") or WEAK)


def _efficiency(row: Row, base: Row, fewest: int) -> Efficiency:
    nodes, least = nodes_of(row), nodes_of(base)
    more = 1.0 if row.is_bandwidth else nodes / least
    value = row.throughput / (base.throughput * more)
    if row is base:
        return Efficiency(value, 0.0, least, fewest)
    relative = math.hypot(row.half_width_over_launches, base.half_width_over_launches)
    return Efficiency(value, value * relative, least, fewest)


def _settings_but_nodes(row: Row) -> tuple[str, ...]:
    """A key that is equal for combinations that differ only in their nodes."""
    if point := matrix(row):
        kept = {key: str(value) for key, value in point.items()}
        kept.pop(NODES, None)
        program = PROGRAM.sub("", str(row.config.get("program")))
        return "matrix", scaling(row), program, str(sorted(kept.items()))
    return "argv", scaling(row), str(row.config.get("group")), _options(row)


def _options(row: Row) -> str:
    argv = row.config.get("argv")
    return str(sorted(argv.items(), key=str) if isinstance(argv, dict) else argv)
