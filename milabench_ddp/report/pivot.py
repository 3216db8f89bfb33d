"""A sweep as a table: one metric of each benchmark, at the crossing of its settings.

Settings are those of ``settings``. A cell without a number tells the state, see ``states``; so does
one of a benchmark that failed, whatever it measured until then, unless other launches of it ended
ok: then a note says how many.

A sweep over nodes and backends (or DDP's graph breaks) has the layout of torchbench's
ddp_experiments: for each model a block, for each backend a row without and one with breaks, for
each number of nodes a column.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import SelectionError
from . import ddp_experiments
from .layout import At, Label, Layout, by_settings
from .metrics import Metric, metric_of
from .model import NAN, Report, Row
from .settings import NOTHING, node_count
from .states import State, state, succeeded


@dataclass(frozen=True)
class Cell:
    """What stands at a crossing, its number (NaN for none), and what belongs below the table."""

    text: str
    value: float
    note: str = ""
    spread: float = NAN


@dataclass(frozen=True)
class Block:
    """A part of the table; its title is empty where there is only one."""

    title: str
    cells: Mapping[tuple[Label, str], Cell]

    @property
    def rows(self) -> tuple[Label, ...]:
        """The labels of the rows, in their order."""
        return tuple(dict.fromkeys(label for label, _ in self.cells))


@dataclass(frozen=True)
class Pivot:
    """The table of a sweep."""

    metric: str
    meaning: str
    titles: str  # what a block's title is: ``model``
    corner: Label  # what the parts of a row's label are
    between: str  # the parts of a row's label, for a person
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    skipped: tuple[tuple[str, str], ...] = ()  # benchmarks whose settings are not known; why


def pivot(
    report: Report, metric: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Pivot:
    """Lay one metric of all benchmarks out by their settings.

    Args:
        report: ours, not milabench's formulas.
        metric: one of ``METRICS``, efficiency, or a number that a program told of itself.
        rows: the settings that name a row; the first of the sweep's, or the benchmark's name.
        columns: those that name a column; the others of the sweep's that differ.

    Raises:
        SelectionError: no benchmark has such a metric or setting, or two share a cell.
    """
    table = _table(report)
    of = metric_of(report, metric, table)
    if not rows and not columns and ddp_experiments.fits(table):
        layout = ddp_experiments.layout(table, metric)
    else:
        layout = by_settings(table, metric, rows, columns)
    table = list(filter(layout.keeps, table))
    if layout.order is not None:
        table.sort(key=layout.order)
    blocks: dict[str, dict[tuple[Label, str], Cell]] = {}
    taken: dict[At, str] = {}
    for row in table:
        title, label, column = at = layout.at(row)
        if at in taken:
            where = " x ".join(filter(None, (title, layout.between.join(label), column)))
            raise SelectionError(
                f"{row.name} and {taken[at]} share the cell {where}: "
                f"add a setting in which they differ to --rows or --cols"
            )
        taken[at] = row.name
        blocks.setdefault(title, {})[label, column] = _cell(of, row, state(report, row))
    names = taken.values()
    return Pivot(
        metric,
        of.meaning,
        layout.titles,
        layout.corner,
        layout.between,
        _columns(table, layout),
        tuple(Block(title, cells) for title, cells in blocks.items()),
        tuple((n, why) for run in report.runs for n, why in run.skipped if n not in names),
    )


def _table(report: Report) -> list[Row]:
    """All benchmarks, in the order of the configuration; also those that left nothing so far."""
    there = {row.name for row in report.rows}
    waiting = [
        Row(name, 0, 0, 0, NAN, NAN, NAN, NAN, NAN, 0.0, config=config)
        for name, config in report.planned.items()
        if name not in there
    ]
    place = {name: k for k, name in enumerate(report.planned)}
    return sorted([*report.rows, *waiting], key=lambda row: place.get(row.name, -1))


def _columns(table: Sequence[Row], layout: Layout) -> tuple[str, ...]:
    """The same columns in each block, those of fewer nodes first."""
    found: dict[str, int] = {}
    for row in table:
        found.setdefault(layout.at(row)[2], node_count(row) if layout.order is not None else 0)
    return tuple(sorted(found, key=found.__getitem__))


def _cell(metric: Metric, row: Row, found: State | None) -> Cell:
    value, ok, launches = metric.value(row), *succeeded(row)
    if found is not None and not (ok and math.isfinite(value)):
        return Cell(found.word, NAN, found.why)
    if not math.isfinite(value):
        return Cell(NOTHING, NAN)
    notes = [metric.note(row)]
    if found is not None:
        why = f": {found.why}" if found.why else ""
        notes.append(f"{launches - ok} of {launches} launches did not end ok: {found.word}{why}")
    return Cell(metric.shown(row), value, "; ".join(filter(None, notes)), metric.spread(row))
