"""The table of steps: of each benchmark."""

import math
from collections.abc import Iterator
from functools import partial

from ...table import Column, Measured, Table
from ..completeness import of_how_many
from ..fields import FEW, HOST, ReportedBenchmark, of_peak, share_of
from ..mfu import of_data_sheet
from ..model import Row, Rows
from ..ranks.rank_launch import EXPOSED
from ..statistics.values import NAN
from ..told import TFLOPS
from .selection import MadeTable, TableOf

PARTS = {  # of a step, in the order of their columns, with their titles
    "data": "data",
    "forward": "forward",
    "backward": "backward",
    "forward_backward": "forward+backward",
    EXPOSED: "exposed",
    "optimizer": "optimizer",
    HOST: "host",
}


@MadeTable
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
        Column("p95 ms", ".4g", lambda row: row.like_perf(ReportedBenchmark(row).p95)),
        *(Column(PARTS.get(part, part), ".1%", partial(share_of, part=part)) for part in parts),
        Column("TFLOP/s/GPU", ".4g", _tflops),
        Column("MFU", ".1%", lambda row: of_peak(row, row.used.mfu)),
        Column("of data sheet", ".1%", lambda row: row.like_perf(of_data_sheet(row.counted))),
        Column("HFU", ".1%", lambda row: of_peak(row, row.used.hfu)),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
        Column("estimated", ".0f", _estimated),
        Column("instruments", ".1%", _instruments),
    )
    return TableOf("Steps", lambda row: [row], columns, 3, _notes)(known)


def _notes(rows: Rows) -> Iterator[str]:
    names = [row.name for row in rows if not row.timed and row.step_ms >= 0]
    if names:
        yield f"(ms is the mean, as no step times were recorded: {', '.join(names)})"
    yield from of_how_many(rows)


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
