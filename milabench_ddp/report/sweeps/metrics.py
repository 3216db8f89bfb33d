"""The metrics of a table: one number for each benchmark, some with a spread.

The spread of metrics that are proportional to a rate is that of the rate over launches alone: the
cells of a sweep are there to be compared. The spread of a number that programs tell is its standard
deviation over processes, ranks and repeats.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...errors import SelectionError, one_of
from ...table import Measured
from ..clocks import sm_clock
from ..energy import UNKNOWN, Energy, energy_of_row
from ..model import Row, Rows
from ..statistics.values import median
from ..tables import REPORT_TABLES, TABLES
from ..told import Told
from .cell import Cell
from .efficiency import efficiencies, ideals

EFFICIENCY = "efficiency"
OVER_LAUNCHES = "half of its 95 % interval over launches (a single launch has none)"
Number = Callable[[Row], float]


class Metric(Struct, frozen=True):
    """A metric: what it means, how to calculate it for a benchmark, and how to show it."""

    meaning: str
    calculate: Callable[[Row], Cell]
    format: str = ".4g"  # without a known spread: four digits, but all before the point

    def cell(self, row: Row) -> Cell:
        """The number with its text, such as ``0.93 ±0.04``; without a number, the note alone."""
        found = self.calculate(row)
        if not math.isfinite(found.value):
            return Cell(note=found.note)
        text = Measured(found.value, found.spread, with_error=True).text(self.format)
        return replace(found, text=text)


def _plain(meaning: str, value: Number, format: str = ".4g") -> Metric:
    """A metric without a spread."""
    return Metric(meaning, lambda row: Cell(value(row)), format)


def _proportional(meaning: str, value: Number, format: str = ".4g") -> Metric:
    """A metric that is proportional to the rate, and is as uncertain."""

    def calculate(row: Row) -> Cell:
        found = value(row)
        return Cell(found, found * row.half_width_over_launches)

    return Metric(f"{meaning}, and {OVER_LAUNCHES}", calculate, format)


def _step_stdev(row: Row) -> float:
    return median(rank.std for rank in row.timed)


def _joules(energy: Energy) -> Cell:
    return Cell(energy.joules, energy.error)


METRICS: Mapping[str, Metric] = {
    "throughput": _proportional(
        "units per second of all devices together", lambda row: row.throughput
    ),
    "latency": Metric(
        "ms of a step, the median of ranks' medians",
        lambda row: Cell(row.step_ms, stdev=_step_stdev(row)),
    ),
    "latency_stdev": _plain("ms, the deviation of a rank's steps, median over ranks", _step_stdev),
    "memory": _plain("MiB, the most in use on a device", lambda row: row.peak_memory),
    "allocated": _plain("MiB, the most that a rank allocated", lambda row: row.allocated),
    "reserved": _plain("MiB, the most that a rank reserved", lambda row: row.reserved),
    "joules": Metric(
        "J of the GPU boards for a unit of work, and half of the 95 % interval by their sensors",
        lambda row: _joules(energy_of_row(row) or UNKNOWN),
    ),
    "sm_clock": _plain(
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
    "sem": _plain("standard error of perf, as a fraction", lambda row: row.sem),
    "std": _plain("deviation of perf's observations, as a fraction", lambda row: row.std),
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
        found = efficiencies(rows, is_usable)
        meaning = f"of {ideals(rows) or 'the fewest nodes'}, and {OVER_LAUNCHES}"
        return Metric(meaning, lambda row: found.get(row.name, Cell()), ".2f")
    if name in METRICS:
        return METRICS[name]
    reported: set[str] = set()
    for row in rows:
        reported |= reported_numbers(row).keys()
    if name in reported:
        return Metric(
            "the mean of what the programs reported, and the standard deviation over processes, "
            "ranks and repeats",
            lambda row: _reported(row, name),
        )
    known = sorted({*METRICS, *TABLES, *REPORT_TABLES, EFFICIENCY, *reported})
    raise SelectionError(f"--table {name}: no benchmark reports it: {one_of(name, known)}")


def reported_numbers(row: Row) -> dict[str, Told]:
    """The numbers that the programs of a benchmark reported, by their names.

    The shares of the parts of a step are those of the steady state.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for rank in row.ranks:
        for part, share in rank.shares.items():
            shares[part].append(share)
    return {**row.told, **{part: Told(tuple(found)) for part, found in shares.items()}}


def _reported(row: Row, name: str) -> Cell:
    told = reported_numbers(row).get(name)
    return Cell() if told is None else Cell(told.mean, told.std)
