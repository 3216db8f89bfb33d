"""Sweeps over nodes: latency, throughput and efficiency, with intervals and the ideal line."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from ...errors import SelectionError
from ...results.records import is_finite
from ...table import Column, Measured, Table
from ..model import NODES, Report, Row, Rows
from ..sweeps.cell import Cell
from ..sweeps.efficiency import alike_but_nodes, scaling
from ..sweeps.metrics import EFFICIENCY
from ..sweeps.settings import differing, setting_of
from ..sweeps.sweep import cells_of
from .chart import Chart
from .plot import Axis, Line, Plot, Point
from .scale import MakeScale, from_zero, nodes, spread_out
from .svg import Place
from .theme import SERIES

STRONG = "strong"
MOST_LINES = 5  # of a chart, if its settings can be told apart by two charts
BETWEEN = 16  # places of an ideal line, which is bent where an axis is not logarithmic


class Metric(Struct, frozen=True):
    """How a metric is drawn."""

    title: str
    unit: str  # empty: that of the benchmarks
    scale: MakeScale
    grows: int = 0  # ideally with the nodes to this power
    grows_strong: int = 0  # and under strong scaling


METRICS: Mapping[str, Metric] = {
    "throughput": Metric("throughput", "", spread_out, grows=1, grows_strong=1),
    "latency": Metric("time of a step", "ms", from_zero, grows_strong=-1),
    EFFICIENCY: Metric("efficiency", "1 is ideal", from_zero),
}


class Series(NamedTuple):
    """Benchmarks that differ in their nodes alone, by these."""

    name: str
    rows: Rows


def sweeps(report: Report) -> Iterator[Chart]:
    """A chart for each metric of each sweep over nodes, or of a part with few enough lines."""
    for group in _sweeps(report.rows):
        for subject, several in _parts(group, ""):
            for name in METRICS:
                # a program without steps has no latency
                with suppress(SelectionError):
                    yield from _chart(report, name, subject, several)


def _sweeps(rows: Rows) -> list[list[Rows]]:
    """The benchmarks of each sweep, in groups that differ in their nodes alone."""
    found: dict[tuple[object, ...], list[Rows]] = defaultdict(list)
    for group, is_known in alike_but_nodes(rows):
        ordered = sorted(group, key=attrgetter("nodes"))
        if is_known and len(ordered) > 1:
            first = ordered[0]
            key = first.unit, first.is_bandwidth, scaling(first), tuple(differing(ordered))
            found[key].append(ordered)
    return list(found.values())


def _parts(groups: Sequence[Rows], subject: str) -> Iterator[tuple[str, list[Series]]]:
    """The sweep in parts that have few enough lines, by its settings; each with its name."""
    everyone = [row for group in groups for row in group]
    axes = [axis for axis in differing(everyone) if axis != NODES]
    if len(groups) > (MOST_LINES if len(axes) > 1 else SERIES) and axes:
        by_value: dict[str, list[Rows]] = defaultdict(list)
        for group in groups:
            by_value[setting_of(group[0], axes[0])].append(group)
        for value, several in by_value.items():
            yield from _parts(several, ", ".join(filter(None, (subject, value))))
        return
    series = [Series(_values(group[0], axes) or group[0].name, group) for group in groups]
    subject = subject or shared(everyone)
    if not subject and len(groups) == 1:
        subject = groups[0][0].name
    for first in range(0, len(series), SERIES):
        yield subject, series[first : first + SERIES]


def shared(rows: Rows) -> str:
    """The values of the axes, nodes aside, in which benchmarks of a sweep do not differ."""
    differ = {NODES, *differing(rows)}
    return _values(rows[0], [axis for axis in rows[0].matrix if axis not in differ])


def _values(row: Row, axes: Sequence[str]) -> str:
    return ", ".join(setting_of(row, axis) for axis in axes)


def _chart(report: Report, name: str, subject: str, several: Sequence[Series]) -> Iterator[Chart]:
    metric = METRICS[name]
    everyone = [row for series in several for row in series.rows]
    _, cells = cells_of(report, name, everyone)
    lines = []
    for series in several:
        points = tuple(_point(row, cells[row.name]) for row in series.rows)
        lines.append(Line(series.name, points, _ideal(metric, series.rows[0], points)))
    if sum(is_finite(point.y) for line in lines for point in line.points) < 2:
        return
    unit = metric.unit or everyone[0].unit or "units/s"
    plot = Plot(Axis("nodes", nodes), Axis(f"{metric.title}, {unit}", metric.scale), tuple(lines))
    title = f"{metric.title.capitalize()} against nodes"
    title = f"{subject}: {title[0].lower()}{title[1:]}" if subject else title
    table = _table(title, name, several, cells)
    kind = scaling(everyone[0])
    told = "; ".join(filter(None, (_sentence(metric, line, unit) for line in lines)))
    description = f"{told} ({kind} scaling)."
    yield Chart("sweeps", subject, name, title, description, plot.draw, table)


def _point(row: Row, cell: Cell) -> Point:
    count = row.nodes
    words = f"{row.name}, {count} nodes: {cell.text}"
    if not is_finite(cell.value):
        return Point(count, cell.value)
    return Point(count, cell.value, cell.value - cell.spread, cell.value + cell.spread, words)


def _ideal(metric: Metric, row: Row, points: Sequence[Point]) -> tuple[Place, ...]:
    """What the values of more nodes would be, if these were as good as the fewest."""
    known = [point for point in points if is_finite(point.y)]
    if len(known) < 2:
        return ()
    power = metric.grows_strong if scaling(row) == STRONG else metric.grows
    power = 0 if row.is_bandwidth else power
    first, last = known[0], known[-1]
    ratio = last.x / first.x
    shares = [ratio ** (k / BETWEEN) for k in range(BETWEEN + 1)]
    return tuple((first.x * share, first.y * share**power) for share in shares)


def _sentence(metric: Metric, line: Line, unit: str) -> str:
    """From what to what a line goes."""
    known = [point for point in line.points if is_finite(point.y)]
    if not known:
        return ""
    first, last = known[0], known[-1]
    what = f"{line.name}: {metric.title} {first.y:.4g} on {first.x:g}"
    if first is last:
        return f"{what} nodes, {unit}"
    return f"{what} to {last.y:.4g} on {last.x:g} nodes, {unit}"


def _table(title: str, name: str, several: Sequence[Series], cells: Mapping[str, Cell]) -> Table:
    columns = (
        Column("benchmark"),
        Column("line"),
        Column("nodes", "d"),
        Column(name, ".4g"),
        Column("give or take", ".2g"),
        Column("note"),
    )
    values = []
    for series in several:
        for row in series.rows:
            cell = cells[row.name]
            value = Measured(cell.value, cell.spread)
            state = cell.note if is_finite(cell.value) else cell.note or cell.text
            values.append((row.name, series.name, row.nodes, value, cell.spread, state))
    return Table(columns, tuple(values), title)
