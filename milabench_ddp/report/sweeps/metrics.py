"""The metrics of a table: one number for each benchmark, some with a spread.

The spread of metrics that are proportional to a rate is that of the rate over launches alone: the
cells of a sweep are there to be compared. The spread of a number that programs tell is its standard
deviation over processes, ranks and repeats.
"""

import math
from collections.abc import Callable, Mapping
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from ...errors import SelectionError, one_of
from ...grouping import grouped
from ...table import Measured
from ..fields import BENCHMARK, PEAK, Field, ReportedBenchmark
from ..model import Row, Rows
from ..statistics.values import NAN
from ..tables import REPORT_TABLES, TABLES
from ..told import Told
from .efficiency import efficiencies, ideals
from .settings import Cell

EFFICIENCY = "efficiency"
OVER_LAUNCHES = "half of its 95 % interval over launches (a single launch has none)"
OF_PEAK = (
    "half of its 95 % interval: of the rate over launches (a single launch has none), and of the "
    "peak"
)
EXACT = (".0f", ".1%")  # formats of numbers that have few digits everywhere


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


def _metric(of: Field) -> Metric:
    """A field as a metric; where it is like the rate, it is as uncertain."""
    meaning = f"{of.meaning}, in {of.unit}" if of.unit else of.meaning

    def calculate(row: Row) -> Cell:
        benchmark = ReportedBenchmark(row)
        value = of.of(benchmark)
        if of.stdev:
            return Cell(value, stdev=attrgetter(of.stdev)(benchmark))
        if of.spread:
            return Cell(value, attrgetter(of.spread)(benchmark))
        spread = value * row.half_width_over_launches if of.like else NAN
        return Cell(
            value, math.hypot(spread, value * row.used.peak_error) if of.like == PEAK else spread
        )

    if of.like and not of.stdev:
        meaning = f"{meaning}, and {OF_PEAK if of.like == PEAK else OVER_LAUNCHES}"
    return Metric(meaning, calculate, of.format if of.format in EXACT else ".4g")


METRICS: Mapping[str, Metric] = {each.metric: _metric(each) for each in BENCHMARK if each.metric}


def metric_of(name: str, rows: Rows, is_usable: Callable[[Row], bool]) -> Metric:
    """The metric of this name: one of ``METRICS``, efficiency, or a number that programs reported.

    Args:
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
    reported = set(chain.from_iterable(map(reported_numbers, rows)))
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
    shares = grouped(chain.from_iterable(rank.shares.items() for rank in row.ranks))
    return {**row.told, **{part: Told(tuple(found)) for part, found in shares.items()}}


def _reported(row: Row, name: str) -> Cell:
    told = reported_numbers(row).get(name)
    return Cell() if told is None else Cell(told.mean, told.std)
