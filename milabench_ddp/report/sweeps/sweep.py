"""A sweep as a table: one metric of each benchmark, in the row and column of its settings.

A cell without a number shows the benchmark's state (see ``failures.CellState``). So does the cell
of a benchmark that failed, even if it measured something before. If some of its launches ended ok,
the cell shows the number, and a note says how many launches did not.

A sweep over nodes and backends (or DDP's graph breaks) has the layout of torchbench's
ddp_experiments: a block for each model, a row without and a row with breaks for each backend, and a
column for each number of nodes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ...config.schema import SkippedBenchmark
from ...errors import SelectionError
from ...grouping import grouped
from ...table import Column, Table
from ..clocks import taken_while
from ..failures import CellState, cell_state
from ..model import Report, Row, Rows
from . import ddp_experiments
from .metrics import Metric, metric_of
from .settings import Cell, Label, Layout, Place, by_settings, differing

Block = Mapping[Label, Mapping[str, Cell]]  # by row, by column


class Sweep(Struct, frozen=True):
    """The table of a sweep."""

    metric: str
    meaning: str
    layout: Layout
    columns: tuple[str, ...]
    blocks: Mapping[str, Block]  # by title
    skipped: tuple[SkippedBenchmark, ...] = ()  # benchmarks without a cell
    name: str = ""  # of the sweep in the configuration; empty if it is not known

    def lines(self, title: str) -> Iterator[tuple[Label, list[Cell]]]:
        for label, cells in self.blocks[title].items():
            yield label, [cells.get(column, Cell()) for column in self.columns]


def sweep_of(
    report: Report, metric_name: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Sweep:
    """Lay out one metric of all benchmarks by their settings.

    Args:
        report: with our own formulas, not milabench's.
        metric_name: one of ``METRICS``, efficiency, or a number that programs reported.
        rows: the settings that name the rows; empty: the first that differs, or the name.
        columns: the settings that name the columns; empty: the others that differ.

    Raises:
        SelectionError: no benchmark has such a metric or setting, or two share a cell.
    """
    table = _all_benchmarks(report)
    metric, found = cells_of(report, metric_name, table)
    if not rows and not columns and ddp_experiments.fits(table):
        layout = ddp_experiments.layout(table, metric_name)
    else:
        layout = by_settings(table, metric_name, rows, columns)
    rows_at: dict[Place, Row] = {}
    for row in sorted(filter(layout.keeps, table), key=layout.order):
        place = title, label, column = layout.place(row)
        if place in rows_at:
            names = title, layout.between.join(label), column
            where = " x ".join(filter(None, names))
            raise SelectionError(
                f"{row.name} and {rows_at[place].name} share the cell {where}: "
                f"add a setting in which they differ to --rows or --cols"
            )
        rows_at[place] = row
    by_column = sorted(rows_at, key=lambda place: layout.order(rows_at[place])[-1])
    blocks: dict[str, dict[Label, dict[str, Cell]]] = {}
    for (title, label, column), row in rows_at.items():
        blocks.setdefault(title, {}).setdefault(label, {})[column] = found[row.name]
    shown = {row.name for row in rows_at.values()}
    skipped = [each for run in report.runs for each in run.skipped if each.name not in shown]
    return Sweep(
        metric_name,
        metric.meaning,
        layout,
        tuple(dict.fromkeys(column for _, _, column in by_column)),
        blocks,
        tuple(skipped),
    )


def sweeps_of(report: Report, metric_name: str, fewest_axes: int = 1) -> Iterator[Sweep]:
    """The table of a metric for each sweep of the suite.

    Sweeps that only ``--rows`` and ``--cols`` can lay out are left out.

    Args:
        report: with our own formulas, not milabench's.
        fewest_axes: in how many settings the benchmarks of a sweep differ at least.
    """
    swept = [row for row in _all_benchmarks(report) if row.matrix]
    for name, rows in grouped((str(row.config.get("sweep") or ""), row) for row in swept).items():
        if len(differing(rows)) >= fewest_axes:
            with suppress(SelectionError):
                part = replace(report, rows=tuple(rows), planned={})
                yield replace(sweep_of(part, metric_name), name=name)


def is_usable(row: Row, state: CellState | None) -> bool:
    """Whether the results of a benchmark in this state count: a launch of it ended ok."""
    succeeded, _ = row.successful_launches()
    return state is None or succeeded > 0


def _all_benchmarks(report: Report) -> list[Row]:
    rows = {row.name: row for row in report.rows}
    for name, config in report.planned.items():
        rows.setdefault(name, Row.unmeasured(name, 0, 0.0, config))
    order = {name: index for index, name in enumerate(report.planned)}
    return sorted(rows.values(), key=lambda row: order.get(row.name, -1))


def cells_of(report: Report, metric_name: str, table: Rows) -> tuple[Metric, dict[str, Cell]]:
    """A metric and the cell of each benchmark by name; SelectionError if none has the metric."""
    states = {row.name: cell_state(report, row) for row in table}
    metric = metric_of(metric_name, table, lambda row: is_usable(row, states[row.name]))
    cells = {
        row.name: replace(_cell(metric, row, states[row.name]), benchmark=row.name) for row in table
    }
    return metric, cells


def _cell(metric: Metric, row: Row, state: CellState | None) -> Cell:
    cell = metric.cell(row)
    succeeded, launches = row.successful_launches()
    is_known = math.isfinite(cell.value)
    if state is not None and not (succeeded and is_known):
        return Cell(text=state.word, note=state.reason)
    if not is_known:
        return cell
    notes = [cell.note, taken_while(row.measuring)]
    if state is not None:
        ended = state.word  # of a launch that ended ok, records can be missing
        if succeeded < launches:
            ended = f"{launches - succeeded} of {launches} launches did not end ok: {state.word}"
        notes.append(f"{ended}: {state.reason}" if state.reason else ended)
    return replace(cell, note="; ".join(filter(None, notes)))


def sweep_table(sweep: Sweep) -> Table:
    """The sweep as one table, for a spreadsheet; a cell without a value has its state.

    If values have spreads or deviations, each column is followed by columns with these.
    """
    layout = sweep.layout
    lines = []
    for title in sweep.blocks:
        lines += [((title, *label), cells) for label, cells in sweep.lines(title)]
    every = list(chain.from_iterable(cells for _, cells in lines))
    beside = ["spread"] if any(cell.spread > 0 for cell in every) else []
    if any(cell.stdev >= 0 for cell in every):
        beside.append("stdev")
    names = [layout.titles, *layout.corner]
    for column in sweep.columns:
        names += [column, *(f"{column}_{name}" for name in beside)]
    first = 0 if layout.titles else 1  # a table of one block has no column of titles
    rows = []
    for label, cells in lines:
        row: list[object] = list(label)
        for cell in cells:
            row.append(cell.value if math.isfinite(cell.value) else cell.text)
            for name in beside:
                value = getattr(cell, name)
                row.append(value if math.isfinite(value) else None)
        rows.append(tuple(row[first:]))
    return Table(tuple(map(Column, names[first:])), tuple(rows))


def block_table(sweep: Sweep, title: str, notes: dict[str, int]) -> Table:
    layout = sweep.layout
    rows: list[tuple[str, ...]] = []
    for label, cells in sweep.lines(title):
        texts = [_numbered(cell, notes) for cell in cells]
        rows.append((layout.between.join(filter(None, label)), *texts))
    corner = layout.corner[0] if title else layout.between.join(layout.corner)
    columns = [Column(column, right=True) for column in sweep.columns]
    return Table((Column(corner, unknown=""), *columns), tuple(rows))


def _numbered(cell: Cell, notes: dict[str, int]) -> str:
    if not cell.note:
        return cell.text
    number = notes.setdefault(cell.note, len(notes) + 1)
    return f"{cell.text} [{number}]"
