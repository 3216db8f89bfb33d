"""The tables of steps: of each benchmark, of its slowest ranks, of every rank."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from operator import attrgetter

from ...table import Column, Measured, Table
from ..completeness import of_how_many
from ..fields import FEW, HOST, of_peak, share_of
from ..model import Row, Rows
from ..rank_fields import IN_TABLE, RankOfRow
from ..ranks.rank_launch import EXPOSED
from ..ranks.rank_summary import peers
from ..ranks.stragglers import all_stragglers, can_be_judged
from ..statistics.values import NAN, median
from ..told import TFLOPS
from .selection import TableOf

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
    for row in rows:
        if row.timed or TFLOPS in row.told or any(rank.shares for rank in row.ranks):
            known.append(row)
    names = {part for row in known for rank in row.ranks for part in rank.shares}
    if not any(share_of(row, HOST) >= FEW for row in known):
        names.discard(HOST)
    parts = [part for part in PARTS if part in names]
    parts += sorted(names - PARTS.keys())
    columns = (
        Column("ms", ".4g", lambda row: row.like_perf(row.step_ms)),
        Column("p95 ms", ".4g", _p95),
        *(Column(PARTS.get(part, part), ".1%", partial(share_of, part=part)) for part in parts),
        Column("TFLOP/s/GPU", ".4g", _tflops),
        Column("MFU", ".1%", lambda row: of_peak(row, row.used.mfu)),
        Column("HFU", ".1%", lambda row: of_peak(row, row.used.hfu)),
        Column("allocated", ".0f", "allocated"),
        Column("reserved", ".0f", "reserved"),
        Column("estimated", ".0f", _estimated),
        Column("instruments", ".1%", _instruments),
    )
    return TableOf("Steps", lambda row: [row], columns, 3, _notes)(known)


def _notes(rows: Rows) -> Iterator[str]:
    names = [row.name for row in rows if not row.timed and row.step_ms >= 0]
    if names:
        yield f"(ms is the mean, as no step times were recorded: {', '.join(names)})"
    yield from of_how_many(rows)


def _p95(row: Row) -> Measured:
    return row.like_perf(median(rank.p95 for rank in row.timed))


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


def _compared(row: Row) -> Iterator[Mapping[str, object]]:
    """The slowest and the fastest of several ranks or devices, and each straggler."""
    count = max(len(row.timed), sum(bool(rank.local) for rank in row.ranks))
    # after a sweep of shapes each device runs its own best shape: steps are not comparable
    if count < 2 or "sweep" in row.tables:
        return
    of_steps: dict[str, object] = {}
    if len(row.timed) > 1:
        slowest = max(row.timed, key=attrgetter("median"))
        fastest = min(row.timed, key=attrgetter("median"))
        of_steps = {
            "longest": row.like_perf(slowest.median),
            "slowest": slowest.id.label,
            "shortest": row.like_perf(fastest.median),
            "fastest": fastest.id.label,
        }
    for local in _local_of(row):
        yield {"ranks": count, **of_steps, **local}


def _local_of(row: Row) -> Iterator[Mapping[str, object]]:
    """The local time of each straggler, the worst first; without one, the median of all ranks."""
    known = [rank for rank in row.ranks if rank.local]
    groups = [group for group in peers(known) if len(group) > 1]
    found = [each for group in groups for each in all_stragglers(group)]
    for each in sorted(found, key=attrgetter("slower"), reverse=True):
        yield {
            "own ms": row.like_perf(each.rank.local_ms),
            "straggler": each.rank.id.label,
            "slower": each.slower,
            "mostly in": each.part + each.when,
        }
    if groups and not found:
        typical = median(rank.local_ms for rank in known)
        judged = any(can_be_judged(group) for group in groups)
        yield {"own ms": row.like_perf(typical), "straggler": "none" if judged else ""}
    if not groups:
        yield {}


slowest_ranks = TableOf(
    "Ranks",
    _compared,
    (
        Column("ranks", "d"),
        Column("ms", ".4g", lambda ranks: ranks.get("longest")),
        Column("slowest"),
        Column("ms", ".4g", lambda ranks: ranks.get("shortest")),
        Column("fastest"),
        Column("own ms", ".4g"),
        Column("straggler"),
        Column("slower", ".1%"),
        Column("mostly in"),
    ),
    always=1,
    notes=of_how_many,
)
every_rank = TableOf(
    "All ranks",
    lambda row: [RankOfRow(rank, {}) for rank in row.ranks],
    tuple(Column(each.heading, each.format, each.of) for each in IN_TABLE),
    notes=of_how_many,
)
