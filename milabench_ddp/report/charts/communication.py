"""Communication by size: the bandwidth and the time of each operation."""

from collections import defaultdict
from collections.abc import Iterator

from ...results.records import is_finite
from ...table import Table
from ..model import Report
from ..tables.program_tables import COMPARABLE, curve, size_text
from .chart import Chart
from .plot import Axis, Line, Plot, Point
from .scale import Scale, nodes, spread_out
from .theme import SERIES

Y = {"bus_gb_s": "bus bandwidth, GB/s", "time_us": "time, us"}  # by the column of the table


def communication(report: Report) -> Iterator[Chart]:
    """Two charts for each benchmark that measured messages of several sizes."""
    for row in report.rows:
        table = curve([row])
        names = [column.name for column in table.columns]
        found: dict[str, list[dict[str, object]]] = defaultdict(list)
        for values in table.rows:
            line = dict(zip(names, values, strict=True))
            words = [str(line[key]) for key in COMPARABLE if line[key]]
            found[" ".join([*words, "ranks"])].append(line)
        if any(len(lines) > 1 for lines in found.values()):
            for column, axis in Y.items():
                yield from _chart(row.name, column, axis, found, table)


def _chart(
    name: str, column: str, axis: str, found: dict[str, list[dict[str, object]]], table: Table
) -> Iterator[Chart]:
    lines = []
    for words, several in list(found.items())[:SERIES]:
        points = tuple(_point(line, column) for line in several)
        lines.append(Line(words, points))
    told = []
    for drawn in lines:
        known = [point for point in drawn.points if is_finite(point.y)]
        if known:
            last = known[-1]
            told.append(f"{drawn.name}: {last.y:.4g} at {size_text(int(last.x))} bytes")
    if told:
        plot = Plot(Axis("bytes", _sizes), Axis(axis, spread_out), tuple(lines))
        what = axis.partition(",")[0]
        title = f"{name}: {what} by size"
        description = f"{what.capitalize()} ({axis.rpartition(' ')[2]}). {'; '.join(told)}."
        yield Chart("communication", name, column, title, description, plot.draw, table)


def _point(line: dict[str, object], column: str) -> Point:
    size, value = line["bytes"], line[column]
    x = float(size) if is_finite(size) else 0.0
    y = float(value) if is_finite(value) else float("nan")
    return Point(x, y, words=f"{size_text(int(x))}: {y:.4g}")


def _sizes(values: object) -> Scale:
    """A scale of bytes, with binary prefixes."""
    scale = nodes(values)  # type: ignore[arg-type]
    return Scale(scale.ticks, tuple(size_text(int(tick)) for tick in scale.ticks), is_log=True)
