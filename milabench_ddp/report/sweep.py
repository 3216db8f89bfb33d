"""A sweep as a table: one metric of each benchmark, at the crossing of its settings.

A cell without a number shows the state (see ``failures.CellState``); so does one of a benchmark
that failed, whatever it measured until then, unless other launches of it ended ok: then a note says
how many.

A sweep over nodes and backends (or DDP's graph breaks) has the layout of torchbench's
ddp_experiments: for each model a block, for each backend a row without and one with breaks, for
each number of nodes a column.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import SelectionError
from ..table import Column, Table
from . import ddp_experiments
from .failures import CellState, cell_state
from .metrics import Metric, metric_of
from .model import Report, Row
from .settings import NOTHING, Label, Layout, Place, by_settings
from .statistics import NAN


@dataclass(frozen=True)
class Cell:
    """What stands at a crossing, its number (NaN for none), and what belongs below the table."""

    text: str
    value: float
    note: str = ""
    spread: float = NAN


EMPTY = Cell(NOTHING, NAN)
Block = Mapping[Label, Mapping[str, Cell]]  # by row, by column


@dataclass(frozen=True)
class Sweep:
    """The table of a sweep."""

    metric: str
    meaning: str
    layout: Layout
    columns: tuple[str, ...]
    blocks: Mapping[str, Block]  # by title
    skipped: tuple[tuple[str, str], ...] = ()  # benchmarks whose settings are not known; why

    def lines(self, title: str) -> Iterator[tuple[Label, list[Cell]]]:
        """The rows of a block, each with a cell for every column."""
        for label, cells in self.blocks[title].items():
            yield label, [cells.get(column, EMPTY) for column in self.columns]


def sweep_of(
    report: Report, metric_name: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Sweep:
    """Lay one metric of all benchmarks out by their settings.

    Args:
        report: ours, not milabench's formulas.
        metric_name: one of ``METRICS``, efficiency, or a number that programs reported.
        rows: the settings that name a row; the first of the sweep's, or the benchmark's name.
        columns: those that name a column; the others of the sweep's that differ.

    Raises:
        SelectionError: no benchmark has such a metric or setting, or two share a cell.
    """
    table = _all_benchmarks(report)
    states = {row.name: cell_state(report, row) for row in table}

    def is_usable(row: Row) -> bool:
        succeeded, _ = row.successful_launches()
        return states[row.name] is None or succeeded > 0

    metric = metric_of(metric_name, table, is_usable)
    if not rows and not columns and ddp_experiments.fits(table):
        layout = ddp_experiments.layout(table, metric_name)
    else:
        layout = by_settings(table, metric_name, rows, columns)
    taken: dict[Place, str] = {}
    order_of_columns: dict[str, int] = {}
    blocks: dict[str, dict[Label, dict[str, Cell]]] = {}
    for row in sorted(filter(layout.keeps, table), key=layout.order):
        place = title, label, column = layout.place(row)
        if place in taken:
            names = title, layout.between.join(label), column
            where = " x ".join(filter(None, names))
            raise SelectionError(
                f"{row.name} and {taken[place]} share the cell {where}: "
                f"add a setting in which they differ to --rows or --cols"
            )
        taken[place] = row.name
        order_of_columns.setdefault(column, layout.order(row)[-1])
        cells = blocks.setdefault(title, {}).setdefault(label, {})
        cells[column] = _cell(metric, row, states[row.name])
    shown = set(taken.values())
    skipped = []
    for run in report.runs:
        for name, reason in run.skipped:
            if name not in shown:
                skipped.append((name, reason))
    return Sweep(
        metric_name,
        metric.meaning,
        layout,
        tuple(sorted(order_of_columns, key=order_of_columns.__getitem__)),
        blocks,
        tuple(skipped),
    )


def _all_benchmarks(report: Report) -> list[Row]:
    """All benchmarks, in the order of the configuration; also those that left nothing so far."""
    rows = {row.name: row for row in report.rows}
    for name, config in report.planned.items():
        rows.setdefault(name, Row.unmeasured(name, 0, 0.0, config))
    order = {name: index for index, name in enumerate(report.planned)}
    return sorted(rows.values(), key=lambda row: order.get(row.name, -1))


def _cell(metric: Metric, row: Row, state: CellState | None) -> Cell:
    value = metric.value(row)
    succeeded, launches = row.successful_launches()
    is_known = math.isfinite(value)
    if state is not None and not (succeeded and is_known):
        return Cell(state.word, NAN, state.reason)
    if not is_known:
        return EMPTY
    notes = [metric.note(row)]
    if state is not None:
        ended = f"{launches - succeeded} of {launches} launches did not end ok: {state.word}"
        notes.append(f"{ended}: {state.reason}" if state.reason else ended)
    note = "; ".join(filter(None, notes))
    return Cell(metric.shown(row), value, note, metric.spread(row))


def sweep_table(sweep: Sweep) -> Table:
    """A row for each row of each block, for a spreadsheet; a state where there is no value.

    Where values have spreads, each column is followed by one of them.
    """
    layout = sweep.layout
    lines: list[tuple[Label, list[Cell]]] = []
    has_spreads = False
    for title in sweep.blocks:
        for label, cells in sweep.lines(title):
            lines.append(((title, *label), cells))
            has_spreads |= any(cell.spread >= 0 for cell in cells)
    names = [layout.titles, *layout.corner]
    for column in sweep.columns:
        names.append(column)
        if has_spreads:
            names.append(f"{column}_spread")
    first = 0 if layout.titles else 1  # a table of one block has no column of titles
    rows: list[tuple[object, ...]] = []
    for label, cells in lines:
        row: list[object] = list(label)
        for cell in cells:
            row.append(cell.value if math.isfinite(cell.value) else cell.text)
            if has_spreads:
                row.append(cell.spread if math.isfinite(cell.spread) else None)
        rows.append(tuple(row[first:]))
    return Table(tuple(map(Column, names[first:])), tuple(rows))


def block_table(sweep: Sweep, title: str, notes: dict[str, int]) -> Table:
    """A block for a person; what a cell has no room for gets a number in ``notes``."""
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
