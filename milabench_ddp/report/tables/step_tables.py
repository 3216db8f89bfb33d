"""The tables of steps: of each benchmark, of its slowest ranks, of every rank."""

import math
from typing import Any

from ...table import Column, Measured, Table, without_unknown
from ..completeness import of_how_many
from ..fields import FEW, HOST, of_peak, share_of
from ..model import Row, Rows
from ..rank_fields import IN_TABLE, RankOfRow
from ..ranks.rank_launch import EXPOSED
from ..ranks.rank_summary import peers
from ..ranks.stragglers import all_stragglers, can_be_judged
from ..statistics.values import NAN, median
from ..told import TFLOPS

PARTS = {  # of a step, in the order of their columns, with their titles
    "data": "data",
    "forward": "forward",
    "backward": "backward",
    "forward_backward": "forward+backward",
    EXPOSED: "exposed",
    "optimizer": "optimizer",
    HOST: "host",
}


def steps(rows: Rows) -> Table:
    """A row for each benchmark whose program reported its steps."""
    known: list[Row] = []
    names: set[str] = set()
    for row in rows:
        if row.timed or TFLOPS in row.told or any(rank.shares for rank in row.ranks):
            known.append(row)
        for rank in row.ranks:
            names |= rank.shares.keys()
    if not any(share_of(row, HOST) >= FEW for row in known):
        names.discard(HOST)
    parts = [part for part in PARTS if part in names]
    parts += sorted(names - PARTS.keys())
    columns = (
        Column("benchmark"),
        Column("ms", ".4g"),
        Column("p95 ms", ".4g"),
        *(Column(PARTS.get(part, part), ".1%") for part in parts),
        Column("TFLOP/s/GPU", ".4g"),
        Column("MFU", ".1%"),
        Column("HFU", ".1%"),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
        Column("estimated", ".0f"),
        Column("instruments", ".1%"),
    )
    values = []
    for row in known:
        shares = [share_of(row, part) for part in parts]
        p95 = median(rank.p95 for rank in row.timed)
        shown = (
            row.name,
            row.like_perf(row.step_ms),
            row.like_perf(p95),
            *shares,
            _tflops(row),
            of_peak(row, row.used.mfu),
            of_peak(row, row.used.hfu),
            row.allocated,
            row.reserved,
            _estimated(row),
            _instruments(row),
        )
        values.append(shown)
    table = Table(columns, tuple(values), "Steps", (*_means_only(known), *of_how_many(known)))
    return without_unknown(table, always=3)


def _estimated(row: Row) -> float:
    return NAN if math.isnan(row.allocated) else row.told_mean("memory_estimate.total")


def _instruments(row: Row) -> Measured:
    """What the marks cost, as a share of a step, with half of its 95 % interval.

    Of several ranks and processes it is the mean; ranks that wait for each other err alike, so that
    the error of a mean is no smaller.
    """
    error = row.told_mean("instrument_cost_error")
    return Measured(row.told_mean("instrument_cost"), error, with_error=True)


def _tflops(row: Row) -> Measured:
    told = row.told.get(TFLOPS)
    if told is not None and told.std > 0:
        return Measured(row.told_mean(TFLOPS), told.std, with_error=True)
    return row.like_perf(row.told_mean(TFLOPS))


def _means_only(rows: Rows) -> tuple[str, ...]:
    names = [row.name for row in rows if not row.timed and row.step_ms >= 0]
    if not names:
        return ()
    return (f"(ms is the mean, as no step times were recorded: {', '.join(names)})",)


def slowest_ranks(rows: Rows) -> Table:
    """A row for each benchmark with several known ranks or devices."""
    columns = (
        Column("benchmark"),
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
            for local in _local_of(row):
                values.append((row.name, count, *_steps_of(row), *local))
    return without_unknown(Table(columns, tuple(values), "Ranks", of_how_many(rows)))


NOT_COMPARED = (NAN, "", NAN, "")


def _steps_of(row: Row) -> tuple[Any, ...]:
    if len(row.timed) < 2:
        return NOT_COMPARED
    slowest = max(row.timed, key=lambda rank: rank.median)
    fastest = min(row.timed, key=lambda rank: rank.median)
    ms = row.like_perf(slowest.median), row.like_perf(fastest.median)
    return ms[0], slowest.id.label, ms[1], fastest.id.label


def _local_of(row: Row) -> list[tuple[Any, ...]]:
    """The local time of each straggler, the worst first; without one, the median of all ranks."""
    known = [rank for rank in row.ranks if rank.local]
    groups = [group for group in peers(known) if len(group) > 1]
    if not groups:
        return [NOT_COMPARED]
    found = [each for group in groups for each in all_stragglers(group)]
    if not found:
        typical = median(rank.local_ms for rank in known)
        judged = any(can_be_judged(group) for group in groups)
        return [(row.like_perf(typical), "none" if judged else "", NAN, "")]
    shown = []
    for each in sorted(found, key=lambda straggler: -straggler.slower):
        own = row.like_perf(each.rank.local_ms)
        shown.append((own, each.rank.id.label, each.slower, each.part + each.when))
    return shown


def every_rank(rows: Rows) -> Table:
    """A row for each rank of each benchmark; for spreadsheets."""
    columns = [Column(each.heading, each.format) for each in IN_TABLE]
    values = []
    for row in rows:
        for rank in row.ranks:
            of = RankOfRow(rank, {})
            values.append((row.name, *(each.of(of) for each in IN_TABLE)))
    shown = (Column("benchmark"), *columns)
    return Table(shown, tuple(values), "All ranks", of_how_many(rows))
