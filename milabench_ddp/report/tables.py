"""The tables of a report: the main table, and those that ``--table`` can select.

A new table is a function ``Rows -> Table`` and a line in ``TABLES``.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..table import Column, Measured, Table, without_unknown
from .bandwidth import bandwidths, links, pairs
from .columns import MAIN_COLUMNS, OWN_COLUMNS
from .mfu import hardware_utilisation
from .model import Row, Rows
from .monitored import devices
from .program_tables import communication, curve, matrix_products, numbers
from .speedup import speedup
from .statistics import NAN, mean, median
from .stragglers import can_be_judged, slowest_part, stragglers
from .strategies import strategies
from .told import TFLOPS

MakeTable = Callable[[Rows], Table]

PARTS = ("data", "forward", "backward", "forward_backward", "optimizer")


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
    if not compat:
        columns = []
        for column in MAIN_COLUMNS:
            kind = OWN_COLUMNS.get(column.name, Column)
            columns.append(kind(column.name, column.format))
    names = [column.name for column in columns]
    columns += [Column("unit", unknown=""), Column("drift", "+.1%", unknown="")]
    values = []
    for row in rows:
        known = dict(zip(names, main_values(row), strict=True))
        if not compat:
            is_sure = row.summary.interval is not None
            known["perf"] = Measured(row.perf, row.perf * row.uncertainty, with_error=is_sure)
            known["score"] = _measured(row, row.score)
        values.append((*known.values(), row.unit, row.drift))
    notes = () if compat else _what_intervals_hold(rows)
    table = Table(tuple(columns), tuple(values), notes=notes)
    return without_unknown(table, always=len(columns) - 1)


def _measured(row: Row, value: float) -> Measured:
    """A number that is as uncertain as the rate of its benchmark."""
    return Measured(value, abs(value) * row.uncertainty)


def _what_intervals_hold(rows: Rows) -> tuple[str, ...]:
    """Which of the errors are within a single launch, and do not hold a rerun."""
    known = [row for row in rows if row.summary.interval is not None]
    single = [row.name for row in known if row.summary.launches == 1]
    if not known:
        return ()
    if not single:
        return ("(± and sem% are over launches)",)
    of = "" if len(single) == len(known) else f" of {', '.join(single)}"
    over = "" if not of else "over launches, but "
    return (f"(± and sem% are {over}within the launch{of}: another launch can differ by more)",)


def steps(rows: Rows) -> Table:
    """A row for each benchmark whose program reported its steps."""
    known: list[Row] = []
    names: set[str] = set()
    for row in rows:
        if row.timed or TFLOPS in row.told or any(rank.shares for rank in row.ranks):
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
        Column("HFU", ".1%"),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
        Column("estimated", ".0f"),
    )
    values = []
    for row in known:
        shares = [_share(row, part) for part in parts]
        p95 = median(rank.p95 for rank in row.timed)
        shown = (
            row.name,
            _measured(row, row.step_ms),
            _measured(row, p95),
            *shares,
            _tflops(row),
            _measured(row, row.used.mfu),
            _measured(row, hardware_utilisation(row)),
            row.allocated,
            row.reserved,
            _estimated(row),
        )
        values.append(shown)
    table = Table(columns, tuple(values), "Steps", _means_only(known))
    return without_unknown(table, always=3)


def _estimated(row: Row) -> float:
    """The memory that the program estimated, to stand beside what it allocated."""
    return NAN if math.isnan(row.allocated) else _told(row, "memory_estimate.total")


def _told(row: Row, name: str) -> float:
    """A number that the programs told, as the mean over them; NaN without it."""
    return row.told[name].mean if name in row.told else NAN


def _tflops(row: Row) -> Measured:
    """The TFLOP/s of a device, with their deviation over processes if there are several."""
    told = row.told.get(TFLOPS)
    if told is not None and told.std > 0:
        return Measured(row.tflops, told.std, with_error=True)
    return _measured(row, row.tflops)


def _share(row: Row, part: str) -> float:
    """The part's share of a step, as the mean over ranks; NaN if it is not known."""
    return mean(rank.shares.get(part) for rank in row.ranks)


def _means_only(rows: Rows) -> tuple[str, ...]:
    names = [row.name for row in rows if not row.timed and row.step_ms >= 0]
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
        Column("straggler"),
        Column("slower", ".1%"),
        Column("mostly in"),
    )
    values = []
    for row in rows:
        compared = [rank for rank in row.ranks if rank.local]
        count = max(len(row.timed), len(compared))
        # after a sweep of shapes each device runs its own best shape: steps are not comparable
        if count > 1 and "sweep" not in row.tables:
            values.append((row.name, count, *_steps_of(row), *_local_of(row)))
    return without_unknown(Table(columns, tuple(values), "Ranks"))


NOT_COMPARED = (NAN, "", NAN, "")


def _steps_of(row: Row) -> tuple[Any, ...]:
    """The slowest and the fastest rank by their steps."""
    if len(row.timed) < 2:
        return NOT_COMPARED
    slowest = max(row.timed, key=lambda rank: rank.median)
    fastest = min(row.timed, key=lambda rank: rank.median)
    ms = _measured(row, slowest.median), _measured(row, fastest.median)
    return ms[0], slowest.id.label, ms[1], fastest.id.label


def _local_of(row: Row) -> tuple[Any, ...]:
    """The local time of the worst straggler; without one, the median of all ranks."""
    compared = [rank for rank in row.ranks if rank.local]
    if len(compared) < 2:
        return NOT_COMPARED
    slow, typical = stragglers(compared)
    if not slow:
        return _measured(row, typical), "none" if can_be_judged(compared) else "", NAN, ""
    worst = slow[0]
    return (
        _measured(row, worst.local_ms),
        worst.id.label,
        worst.local_ms / typical - 1,
        slowest_part(worst, compared),
    )


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


IN_THE_TEXT: tuple[MakeTable, ...] = (
    steps,
    strategies,
    slowest_ranks,
    communication,
    speedup,
    matrix_products,
    bandwidths,
    links,
)
TABLES: Mapping[str, MakeTable] = {
    "steps": steps,
    "strategies": strategies,
    "ranks": every_rank,
    "devices": devices,
    "communication": communication,
    "curve": curve,
    "numbers": numbers,
    "speedup": speedup,
    "sweeps": matrix_products,
    "bandwidth": bandwidths,
    "links": links,
    "pairs": pairs,
}
