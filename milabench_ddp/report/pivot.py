"""A sweep as a table: one metric of each benchmark, at the crossing of its settings.

A setting is what the matrix of a sweep gave a benchmark, or else an option of its ``argv`` (with or
without the dashes), or a key of its configuration. A cell without a value tells the state: the
outcome, ``running`` or ``waiting..``.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import SelectionError, did_you_mean
from ..results.records import is_finite
from .model import NAN, Report, Row

NOTHING = "-"

METRICS: Mapping[str, Callable[[Row], Any]] = {
    "throughput": lambda row: row.perf,
    "latency": lambda row: _facts(row, "model").get("step_ms"),
    "memory": lambda row: row.peak_memory,
    "perf": lambda row: row.perf,
    "score": lambda row: row.score,
    "sem": lambda row: row.sem,
    "std": lambda row: row.std,
}
"""Beside these, whatever number the programs tell of themselves: compile_s, tflops_per_gpu, ..."""


@dataclass(frozen=True)
class Pivot:
    """A table whose cells are text already; ``values`` has the numbers, NaN where there is none."""

    metric: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: Mapping[tuple[str, str], str]
    values: Mapping[tuple[str, str], float]


def pivot(
    report: Report, metric: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> Pivot:
    """Lay one metric of all benchmarks out by their settings.

    Args:
        report: ours, not milabench's formulas.
        metric: one of ``METRICS``, or a number that a program told of itself.
        rows: the settings that name a row; the first of the sweep's, or the benchmark's name.
        columns: those that name a column; the others of the sweep's that differ.

    Raises:
        SelectionError: no benchmark has such a metric or setting, or two share a cell.
    """
    table = [*report.rows, *_not_yet(report)]
    rows, columns = _axes(table, rows, columns)
    cells: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str], float] = {}
    taken: dict[tuple[str, str], str] = {}
    for row in table:
        at = (_label(row, rows, ", "), _label(row, columns, " ") or metric)
        if at in taken:
            raise SelectionError(
                f"{row.name} and {taken[at]} share the cell {at[0]} x {at[1]}: "
                f"add a setting in which they differ to --rows or --cols"
            )
        taken[at] = row.name
        value = _value(row, metric)
        values[at] = value
        cells[at] = _shown(value) if math.isfinite(value) else _state(report, row)
    if not any(map(math.isfinite, values.values())) and metric not in METRICS:
        known = {*METRICS, *(name for row in report.rows for name in _told(row))}
        raise SelectionError(
            f"--table {metric}: no benchmark tells it{did_you_mean(metric, known)}; "
            f"known are {', '.join(sorted(known))}"
        )
    order = dict.fromkeys(at[0] for at in cells), dict.fromkeys(at[1] for at in cells)
    return Pivot(metric, ", ".join(rows), tuple(order[1]), tuple(order[0]), cells, values)


def _shown(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _not_yet(report: Report) -> Iterator[Row]:
    """Rows of the benchmarks that were planned and have left nothing so far."""
    there = {row.name for row in report.rows}
    for name, config in report.planned.items():
        if name not in there:
            yield Row(name, 0, 0, 0, NAN, NAN, NAN, NAN, NAN, 0.0, config=config)


def _axes(
    table: Sequence[Row], rows: Sequence[str], columns: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    for name in (*rows, *columns):
        if not any(_setting(row, name) != NOTHING for row in table):
            known = {key for row in table for key in _mapping(row.config.get("matrix"))} | {"name"}
            raise SelectionError(
                f"no benchmark has the setting {name}{did_you_mean(name, known)}; "
                f"the sweep has {', '.join(sorted(known))}, and any option or key will do"
            )
    swept = list(dict.fromkeys(k for row in table for k in _mapping(row.config.get("matrix"))))
    differ = [key for key in swept if len({_setting(row, key) for row in table}) > 1]
    if not rows:
        rows = [key for key in differ if key not in columns][:1] or ["name"]
    if not columns:
        columns = [key for key in differ if key not in rows]
    return rows, columns


def _label(row: Row, names: Sequence[str], between: str) -> str:
    return between.join(_setting(row, name) for name in names)


def _setting(row: Row, name: str) -> str:
    config, argv = row.config, _mapping(row.config.get("argv"))
    places = (_mapping(config.get("matrix")), argv, config)
    for place in places:
        for key in (name, f"--{name}", f"--{name.replace('_', '-')}"):
            if place.get(key) is not None:
                return str(place[key])
    return row.name if name == "name" else NOTHING


def _value(row: Row, metric: str) -> float:
    value = METRICS[metric](row) if metric in METRICS else _told(row).get(metric)
    return float(value) if is_finite(value) else math.nan


def _told(row: Row) -> dict[str, float]:
    """The numbers that a program told of itself, by their names."""
    return {
        key: value
        for group in ("model", "shares", "correctness")
        for key, value in _facts(row, group).items()
        if is_finite(value)
    }


def _facts(row: Row, group: str) -> Mapping[str, Any]:
    return _mapping(_mapping(row.details.get("facts")).get(group))


def _state(report: Report, row: Row) -> str:
    for failure in report.failures:
        if failure.benchmark == row.name:
            return failure.outcome
    for run in report.runs:
        if row.name in run.running:
            return "running"
        if row.name in run.waiting:
            return "waiting.."
    return NOTHING


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def pivot_text(made: Pivot) -> str:
    """The table for a person: labels to the left, cells to the right."""
    grid = [(made.corner, *made.columns)]
    grid += [(r, *(made.cells.get((r, c), NOTHING) for c in made.columns)) for r in made.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = [f"{made.metric}", ""]
    for label, *cells in grid:
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([label.ljust(widths[0]), *shown]).rstrip())
    return "\n".join(lines) + "\n"


def pivot_csv(made: Pivot) -> str:
    """The table for a spreadsheet, at full precision; a state where there is no value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([made.corner, *made.columns])
    for r in made.rows:
        at = [(r, c) for c in made.columns]
        number = [made.values.get(key, math.nan) for key in at]
        shown = [
            value if math.isfinite(value) else made.cells.get(key, NOTHING)
            for key, value in zip(at, number, strict=True)
        ]
        writer.writerow([r, *shown])
    return out.getvalue()
