"""The main table: milabench's columns, how our own report shows some of them, and the step."""

import math
from collections.abc import Mapping
from typing import Any

from ...table import Column, Measured, Table, without_exponent, without_unknown
from ..clocks import held_down, sm_clock
from ..model import Row, Rows
from ..ranks.rank_launch import EXPOSED
from ..statistics.interval import ROUNDING
from ..statistics.values import NAN, median
from .step_tables import FEW, HOST, share_of

ZERO = 0.0005  # what is smaller would be 0.0%
TINY = 1e-6  # smaller numbers need no digits


class Rate(Column, frozen=True):
    """A column of rates, in which rates below 1 keep three digits."""

    def text(self, value: Any) -> str:
        """The text of a rate."""
        if 0 < abs(value) < 1:
            return Column(self.name, "#.3g").text(value)
        return super().text(value)


class Share(Column, frozen=True):
    """A column of uncertainties in per cent, of which a known one is never shown as 0."""

    def text(self, value: Any) -> str:
        """The text of a fraction."""
        if not 0 < value < ZERO:
            return super().text(value)
        if value < TINY:
            return f"<{TINY:.4%}"
        return without_exponent(100 * value, ".1g") + "%"


def _number(name: str, format: str) -> Column:
    """A column in which an unknown number is ``nan``, as in milabench."""
    return Column(name, format, unknown=f"{NAN:{format}}")


MAIN_COLUMNS = (  # in milabench's order and with its formats
    Column("bench"),
    _number("fail", "4.0f"),
    _number("n", "3.0f"),
    _number("ngpu", "4.0f"),
    _number("perf", "10.2f"),
    _number("sem%", "6.1%"),
    _number("std%", "6.1%"),
    _number("peak_memory", "11.0f"),
    _number("score", "10.2f"),
    _number("weight", "6.2f"),
)


OWN_NAMES: Mapping[str, str] = {"bench": "benchmark"}
OWN_COLUMNS: Mapping[str, type[Column]] = {
    "perf": Rate,
    "score": Rate,
    "sem%": Share,
    "std%": Share,
}
STEP = {  # where the time of a step goes: the columns, with the parts that each is the sum of
    "data": ("data",),
    "compute": ("forward", "backward", "forward_backward"),
    "exposed": (EXPOSED,),
    "optimizer": ("optimizer",),
    HOST: (HOST,),
}
STEP_COLUMNS = (
    Column("ms", ".4g", unknown=""),
    Column("p95 ms", ".4g", unknown=""),
    Column("MFU", ".1%", unknown=""),
    *(Column(name, ".0%", unknown="") for name in STEP),
)


def main_values(row: Row) -> tuple[Any, ...]:
    """The values of a benchmark under ``MAIN_COLUMNS``."""
    return (
        row.name,
        row.fail,
        row.n,
        row.ngpu,
        row.perf,
        row.sem,
        row.std,
        row.peak_memory,
        row.score,
        row.weight,
    )


def perf_of(row: Row) -> Measured:
    """The rate of a benchmark, with its ``±`` where it has an interval."""
    return Measured(
        row.perf,
        row.perf * row.uncertainty,
        with_error=row.summary.interval is not None,
        is_asked=row.half_width <= row.summary.until * (1 + ROUNDING),
    )


def main_table(rows: Rows, *, compat: bool = False) -> Table:
    """A row for each benchmark: milabench's columns, then the unit, and how a rate still moves.

    Where it is known, the mean SM clock of the devices stands beside it, what held it down, and in
    our own report the time of a step, the utilisation, and where the time goes.

    Args:
        rows: the benchmarks.
        compat: whether all numbers have milabench's format.
    """
    columns = list(MAIN_COLUMNS)
    if not compat:
        columns = []
        for column in MAIN_COLUMNS:
            kind = OWN_COLUMNS.get(column.name, Column)
            _, point, digits = column.format.partition(".")
            columns.append(kind(OWN_NAMES.get(column.name, column.name), point + digits))
    names = [column.name for column in columns]
    columns += [
        Column("unit", unknown=""),
        Column("drift", "+.1%", unknown=""),
        Column("SM MHz", ".0f"),
        Column("held down by", unknown=""),
    ]
    if not compat:
        columns += STEP_COLUMNS
    values = []
    for row in rows:
        known = dict(zip(names, main_values(row), strict=True))
        if not compat:
            known["perf"] = perf_of(row)
            known["score"] = row.like_perf(row.score)
        devices = row.measuring
        clocks = sm_clock(devices), held_down(devices)
        step = () if compat else _step(row)
        values.append((*known.values(), row.unit, row.drift, *clocks, *step))
    notes = () if compat else _what_intervals_hold(rows)
    table = Table(tuple(columns), tuple(values), notes=notes)
    return without_unknown(table, always=len(names) + 1)


def _step(row: Row) -> tuple[float, ...]:
    """The values of a benchmark under ``STEP_COLUMNS``."""
    p95 = median(rank.p95 for rank in row.timed)
    shares = []
    for name, parts in STEP.items():
        known = [share for part in parts if not math.isnan(share := share_of(row, part))]
        is_shown = known and (name != HOST or sum(known) >= FEW)
        shares.append(math.fsum(known) if is_shown else NAN)
    return (*map(row.like_perf, (row.step_ms, p95, row.used.mfu)), *shares)


def _what_intervals_hold(rows: Rows) -> tuple[str, ...]:
    """Which of the errors are within a single launch, and do not hold a rerun."""
    known = [row for row in rows if row.summary.interval is not None]
    single = [row.name for row in known if row.summary.launches == 1]
    if not known:
        return ()
    if not single:
        return ("(± is over launches)",)
    of = "" if len(single) == len(known) else f" of {', '.join(single)}"
    over = "" if not of else "over launches, but "
    return (f"(± is {over}within the launch{of}: another launch can differ by more)",)
