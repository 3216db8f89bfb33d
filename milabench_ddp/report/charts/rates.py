"""The rates of the main table, with their intervals: a chart for each unit."""

from collections import defaultdict
from collections.abc import Iterator

from ...results.records import is_finite
from ...table import Column, Table
from ..fields import perf_of
from ..model import Report, Row, Rows
from .bars import Bar, Bars
from .chart import Chart
from .plot import Axis
from .scale import from_zero


def rates(report: Report) -> Iterator[Chart]:
    """A chart for each unit, with a bar for each benchmark that has a rate."""
    by_unit: dict[str, list[Row]] = defaultdict(list)
    for row in report.rows:
        if is_finite(row.perf):
            by_unit[row.unit].append(row)
    for unit, rows in by_unit.items():
        name = f"rate, {unit or 'units/s'}"
        drawn = Bars(Axis(name, from_zero), tuple(map(_bar, rows)))
        best = max(rows, key=lambda row: row.perf)
        description = (
            "The rate of each benchmark, which is the mean of its processes, with its 95 % "
            f"interval where one is known. The largest is that of {best.name}: {_text(best)}."
        )
        title = f"Rates in {unit or 'units/s'}"
        yield Chart("rates", "", unit, title, description, drawn.draw, _table(rows, title))


def _interval(row: Row) -> tuple[float | None, float | None]:
    return row.summary.interval or (None, None)


def _text(row: Row) -> str:
    return perf_of(row).text(",.4g")


def _bar(row: Row) -> Bar:
    parts = (("rate", row.perf),)
    words = f"{_text(row)}, {row.fail:.0f} of {row.n:.0f} failed" if row.fail else _text(row)
    if row.summary.interval is None:
        return Bar(row.name, parts, words=words)
    return Bar(row.name, parts, *row.summary.interval, words=words)


def _table(rows: Rows, title: str) -> Table:
    columns = (
        Column("benchmark"),
        Column("rate", ".6g"),
        Column("low", ".6g"),
        Column("high", ".6g"),
        Column("unit"),
        Column("launches", "d"),
    )
    values = []
    for row in rows:
        values.append((row.name, row.perf, *_interval(row), row.unit, row.summary.launches))
    return Table(columns, tuple(values), title)
