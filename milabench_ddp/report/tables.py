"""The tables of a report: the main table, and those that ``--table`` can select.

A new table is a function ``Rows -> Table`` and a line in ``TABLES``.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..table import Column, Table, without_unknown
from .model import Row, Rows
from .monitored import devices
from .program_tables import communication, curve, matrix_products
from .ranks import RankSummary
from .statistics import NAN, mean, median
from .stragglers import slowest_part

MakeTable = Callable[[Rows], Table]

PARTS = ("data", "forward", "backward", "forward_backward", "optimizer")


@dataclass(frozen=True)
class Rate(Column):
    """A column of rates, in which rates below 1 keep three digits."""

    def text(self, value: Any) -> str:
        """The text of a rate."""
        return f"{value:#10.3g}" if 0 < abs(value) < 1 else super().text(value)


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


def main_table(rows: Rows, *, compat: bool = False) -> Table:
    """A row for each benchmark: milabench's columns, then the unit, and how a rate still moves.

    Args:
        rows: the benchmarks.
        compat: whether all numbers have milabench's format.
    """
    columns = list(MAIN_COLUMNS)
    for index, column in enumerate(MAIN_COLUMNS):
        if column.name in ("perf", "score") and not compat:
            columns[index] = Rate(column.name, column.format, unknown=column.unknown)
    columns += [Column("unit", unknown=""), Column("drift", "+.1%", unknown="")]
    values = tuple((*main_values(row), row.unit, row.drift) for row in rows)
    notes = () if compat else _what_intervals_hold(rows)
    table = Table(tuple(columns), values, notes=notes)
    return without_unknown(table, always=len(columns) - 1)


def _what_intervals_hold(rows: Rows) -> tuple[str, ...]:
    """Which of the errors are within a single launch, and do not hold a rerun."""
    known = [row for row in rows if row.summary.interval is not None]
    single = [row.name for row in known if row.summary.launches == 1]
    if not known:
        return ()
    if not single:
        return ("(sem% is over launches)",)
    of = "" if len(single) == len(known) else f" of {', '.join(single)}"
    over = "" if not of else "over launches, but "
    return (f"(sem% is {over}within the launch{of}: another launch can differ by more)",)


def steps(rows: Rows) -> Table:
    """A row for each benchmark whose program reported its steps."""
    known: list[Row] = []
    names: set[str] = set()
    for row in rows:
        if row.timed or any(rank.shares for rank in row.ranks):
            known.append(row)
        for rank in row.ranks:
            names |= rank.shares.keys()
    parts = [part for part in PARTS if part in names]
    parts += sorted(names.difference(PARTS))
    columns = (
        Column("bench"),
        Column("ms", ".4g"),
        Column("p95 ms", ".4g"),
        *(Column(part.replace("_", "+"), ".1%") for part in parts),
        Column("TFLOP/s/GPU", ".4g"),
        Column("MFU", ".1%"),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
    )
    values = []
    for row in known:
        shares = [_share(row, part) for part in parts]
        tflops = mean([row.reported("model").get("tflops_per_gpu")])
        p95 = median(rank.p95 for rank in row.timed)
        shown = (
            row.name,
            row.step_ms,
            p95,
            *shares,
            tflops,
            row.mfu,
            row.allocated,
            row.reserved,
        )
        values.append(shown)
    table = Table(columns, tuple(values), "Steps", _means_only(known))
    return without_unknown(table, always=3)


def _share(row: Row, part: str) -> float:
    """The part's share of a step, as the mean over ranks; NaN if it is not known."""
    return mean(rank.shares.get(part) for rank in row.ranks)


def _means_only(rows: Rows) -> tuple[str, ...]:
    names = [row.name for row in rows if not row.timed]
    if not names:
        return ()
    return (f"(ms is the mean, as no step times were recorded: {', '.join(names)})",)


def slowest_ranks(rows: Rows) -> Table:
    """A row for each benchmark with several known ranks or devices."""
    columns = (
        Column("bench"),
        Column("ranks", "d"),
        Column("ms", ".4g"),
        Column("slowest"),
        Column("ms", ".4g"),
        Column("fastest"),
        Column("own ms", ".4g"),
        Column("most own work"),
        Column("slower", ".1%"),
        Column("mostly in"),
    )
    values = []
    for row in rows:
        timed = row.timed
        compared = [rank for rank in row.ranks if rank.local]
        count = max(len(timed), len(compared))
        # after a sweep of shapes each device runs its own best shape: steps are not comparable
        if count > 1 and "sweep" not in row.tables:
            steps_of, local_of = _steps_of(timed), _local_of(compared)
            values.append((row.name, count, *steps_of, *local_of))
    return without_unknown(Table(columns, tuple(values), "Ranks"))


NOT_COMPARED = (NAN, "", NAN, "")


def _steps_of(timed: Sequence[RankSummary]) -> tuple[Any, ...]:
    if len(timed) < 2:
        return NOT_COMPARED
    slowest = max(timed, key=lambda rank: rank.median)
    fastest = min(timed, key=lambda rank: rank.median)
    return slowest.median, slowest.id.label, fastest.median, fastest.id.label


def _local_of(compared: Sequence[RankSummary]) -> tuple[Any, ...]:
    if len(compared) < 2:
        return NOT_COMPARED
    most = max(compared, key=lambda rank: rank.local_ms)
    typical = statistics.median(rank.local_ms for rank in compared if rank is not most)
    slower = most.local_ms / typical - 1 if typical > 0 else NAN
    return most.local_ms, most.id.label, slower, slowest_part(most, compared)


def every_rank(rows: Rows) -> Table:
    """A row for each rank of each benchmark; for spreadsheets."""
    columns = (
        Column("bench"),
        Column("rank"),
        Column("node"),
        Column("steps", "d"),
        Column("ms", ".4g"),
        Column("p95_ms", ".4g"),
        Column("wait_ms", ".4g"),
        Column("own_ms", ".4g"),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
    )
    values = []
    for row in rows:
        for rank in row.ranks:
            shown = (
                row.name,
                rank.id.name,
                rank.id.node,
                rank.steps,
                *rank.times_ms().values(),
                rank.allocated,
                rank.reserved,
            )
            values.append(shown)
    return Table(columns, tuple(values), "All ranks")


IN_THE_TEXT: tuple[MakeTable, ...] = (steps, slowest_ranks, communication, matrix_products)
TABLES: Mapping[str, MakeTable] = {
    "steps": steps,
    "ranks": every_rank,
    "devices": devices,
    "communication": communication,
    "curve": curve,
    "sweeps": matrix_products,
}
