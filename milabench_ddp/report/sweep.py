"""A sweep as a table: one metric of each benchmark, at the crossing of its settings.

A cell without a number shows the state (see ``failures.CellState``); so does one of a benchmark
that failed, whatever it measured until then, unless other launches of it ended ok: then a note says
how many.

A sweep over nodes and backends (or DDP's graph breaks) has the layout of torchbench's
ddp_experiments: for each model a block, for each backend a row without and one with breaks, for
each number of nodes a column.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import SelectionError
from ..table import Column, Table
from . import ddp_experiments
from .failures import CellState, cell_state
from .metrics import Metric, metric_of
from .model import Report, Row, Rows
from .settings import NOTHING, Label, Layout, Place, by_settings, nodes_of
from .statistics import NAN


@dataclass(frozen=True)
class Cell:
    """What stands at a crossing, its number (NaN for none), and what belongs below the table."""

    text: str
    value: float
    note: str = ""
    spread: float = NAN


EMPTY = Cell(NOTHING, NAN)
Cells = Mapping[str, Cell]  # by column


@dataclass(frozen=True)
class Sweep:
    """The table of a sweep."""

    metric: str
    meaning: str
    titles: str  # what a block's title is: ``model``
    corner: Label  # what the parts of a row's label are
    between: str  # the parts of a row's label, for a person
    columns: tuple[str, ...]
    blocks: Mapping[str, Mapping[Label, Cells]]  # by title, empty where there is one; by row
    skipped: tuple[tuple[str, str], ...] = ()  # benchmarks whose settings are not known; why


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

    def is_usable(row: Row) -> bool:
        return cell_state(report, row) is None or row.summary.successful_launches()[0] > 0

    metric = metric_of(metric_name, table, is_usable)
    if not rows and not columns and ddp_experiments.fits(table):
        layout = ddp_experiments.layout(table, metric_name)
    else:
        layout = by_settings(table, metric_name, rows, columns)
    table = list(filter(layout.keeps, table))
    if layout.order is not None:
        table.sort(key=layout.order)
    taken: dict[Place, str] = {}
    blocks: dict[str, dict[Label, dict[str, Cell]]] = {}
    for row in table:
        place = layout.place(row)
        _claim(place, row.name, taken, layout)
        title, label, column = place
        cells = blocks.setdefault(title, {}).setdefault(label, {})
        cells[column] = _cell(metric, row, cell_state(report, row))
    shown = set(taken.values())
    skipped = [pair for run in report.runs for pair in run.skipped if pair[0] not in shown]
    return Sweep(
        metric_name,
        metric.meaning,
        layout.titles,
        layout.corner,
        layout.between,
        _columns(table, layout),
        blocks,
        tuple(skipped),
    )


def _claim(place: Place, name: str, taken: dict[Place, str], layout: Layout) -> None:
    if place in taken:
        title, label, column = place
        where = " x ".join(filter(None, (title, layout.between.join(label), column)))
        raise SelectionError(
            f"{name} and {taken[place]} share the cell {where}: "
            f"add a setting in which they differ to --rows or --cols"
        )
    taken[place] = name


def _all_benchmarks(report: Report) -> list[Row]:
    """All benchmarks, in the order of the configuration; also those that left nothing so far."""
    rows = {row.name: row for row in report.rows}
    for name, config in report.planned.items():
        rows.setdefault(name, Row.unmeasured(name, 0, 0.0, config))
    order = {name: index for index, name in enumerate(report.planned)}
    return sorted(rows.values(), key=lambda row: order.get(row.name, -1))


def _columns(table: Rows, layout: Layout) -> tuple[str, ...]:
    """The same columns in each block, those of fewer nodes first."""
    nodes: dict[str, int] = {}
    for row in table:
        _, _, column = layout.place(row)
        nodes.setdefault(column, nodes_of(row) if layout.order is not None else 0)
    return tuple(sorted(nodes, key=nodes.__getitem__))


def _cell(metric: Metric, row: Row, state: CellState | None) -> Cell:
    value = metric.value(row)
    succeeded, launches = row.summary.successful_launches()
    is_known = math.isfinite(value)
    if state is not None and not (succeeded and is_known):
        return Cell(state.word, NAN, state.reason)
    if not is_known:
        return EMPTY
    notes = [metric.note(row)]
    if state is not None:
        note = f"{launches - succeeded} of {launches} launches did not end ok: {state.word}"
        notes.append(f"{note}: {state.reason}" if state.reason else note)
    return Cell(metric.shown(row), value, "; ".join(filter(None, notes)), metric.spread(row))


def sweep_table(sweep: Sweep) -> Table:
    """A row for each row of each block, for a spreadsheet; a state where there is no value.

    Where values have spreads, each column is followed by one of them.
    """
    cells = [
        cell for rows in sweep.blocks.values() for row in rows.values() for cell in row.values()
    ]
    has_spreads = any(cell.spread >= 0 for cell in cells)
    names = [sweep.titles, *sweep.corner] if sweep.titles else list(sweep.corner)
    for column in sweep.columns:
        names += [column, f"{column}_spread"] if has_spreads else [column]
    lines: list[tuple[object, ...]] = []
    for title, rows in sweep.blocks.items():
        for label, row in rows.items():
            line: list[object] = [title, *label] if sweep.titles else list(label)
            for column in sweep.columns:
                cell = row.get(column, EMPTY)
                line.append(cell.value if math.isfinite(cell.value) else cell.text)
                if has_spreads:
                    line.append(cell.spread if math.isfinite(cell.spread) else None)
            lines.append(tuple(line))
    return Table(tuple(map(Column, names)), tuple(lines))


def block_table(sweep: Sweep, title: str, notes: dict[str, int]) -> Table:
    """A block for a person; what a cell has no room for gets a number in ``notes``."""
    rows = []
    for label, cells in sweep.blocks[title].items():
        texts = [_numbered(cells.get(column, EMPTY), notes) for column in sweep.columns]
        rows.append((sweep.between.join(filter(None, label)), *texts))
    corner = sweep.corner[0] if title else sweep.between.join(sweep.corner)
    columns = [Column(column, right=True) for column in sweep.columns]
    return Table((Column(corner, unknown=""), *columns), tuple(rows))


def _numbered(cell: Cell, notes: dict[str, int]) -> str:
    if not cell.note:
        return cell.text
    return f"{cell.text} [{notes.setdefault(cell.note, len(notes) + 1)}]"
