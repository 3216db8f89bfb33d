"""Sweeps: against nodes, with intervals and the ideal line, and as heat maps by two settings."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from ...errors import SelectionError
from ...grouping import grouped
from ...results.records import is_finite
from ...table import Column, Measured, Table
from ..model import NODES, Report, Row, Rows
from ..sweeps.efficiency import alike_but_nodes, scaling
from ..sweeps.metrics import EFFICIENCY
from ..sweeps.settings import differing, setting_of
from ..sweeps.sweep import cells_of, sweep_of, sweep_table
from .axes import Axis
from .chart import Chart
from .heat_map import HeatCell, HeatMap
from .plot import ChartPoint, Curve, Plot
from .scale import MakeScale, doublings, log_if_wide, zero_based
from .svg import Place
from .theme import SERIES

MOST_CURVES = 5  # of a chart, if its settings can be told apart by two charts
COLUMNS = (Column("benchmark"), Column("line"), Column("nodes", "d"))


class DrawnMetric(Struct, frozen=True):
    """How a metric is drawn."""

    title: str
    unit: str  # empty: that of the benchmarks
    scale: MakeScale
    power: Mapping[str, int]  # of the nodes with which it ideally grows, by the kind of scaling

    def unit_of(self, row: Row) -> str:
        return self.unit or row.unit or "units/s"


METRICS: Mapping[str, DrawnMetric] = {
    "throughput": DrawnMetric("throughput", "", log_if_wide, {"weak": 1, "strong": 1}),
    "latency": DrawnMetric("time of a step", "ms", zero_based, {"strong": -1}),
    EFFICIENCY: DrawnMetric("efficiency", "1 is ideal", zero_based, {}),
}


def sweep_charts(report: Report) -> Iterator[Chart]:
    curves = {}  # the benchmarks that differ in their nodes alone, by that with the fewest
    fewest = []
    for group, is_known in alike_but_nodes(report.rows):
        rows = sorted(group, key=attrgetter("nodes"))
        if is_known and len(rows) > 1:
            curves[rows[0].name] = rows
            fewest.append(rows[0])

    def kind(row: Row) -> Hashable:
        return row.unit, row.is_bandwidth, scaling(row), tuple(differing(curves[row.name]))

    for firsts in grouped((kind(row), row) for row in fewest).values():
        for subject, part in _parts(firsts, ""):
            axes = _settings(part)
            names = [_values(row, axes) or row.name for row in part]
            subject = subject or _shared(part) or (part[0].name if len(part) == 1 else "")
            lines = [(name, curves[row.name]) for name, row in zip(names, part, strict=True)]
            for begin in range(0, len(lines), SERIES):
                for metric in METRICS:
                    # a program without steps has no latency
                    with suppress(SelectionError):
                        yield from _sweep(report, metric, subject, lines[begin : begin + SERIES])


def _parts(rows: Rows, subject: str) -> Iterator[tuple[str, Rows]]:
    """A sweep in parts that have few enough curves, by its first settings; each with its name."""
    axes = _settings(rows)
    if not axes or len(rows) <= (MOST_CURVES if len(axes) > 1 else SERIES):
        yield subject, rows
        return
    for value, part in grouped((setting_of(row, axes[0]), row) for row in rows).items():
        yield from _parts(part, ", ".join(filter(None, (subject, value))))


def _sweep(
    report: Report, name: str, subject: str, lines: Sequence[tuple[str, Rows]]
) -> Iterator[Chart]:
    metric, first = METRICS[name], lines[0][1][0]
    unit = metric.unit_of(first)
    _, cells = cells_of(report, name, [row for _, rows in lines for row in rows])
    curves, values, sentences = [], [], []
    for line, rows in lines:
        points = []
        for row in rows:
            cell, nodes = cells[row.name], row.nodes
            note = cell.note
            if is_finite(cell.value):
                low, high = cell.value - cell.spread, cell.value + cell.spread
                words = f"{row.name}, {nodes} nodes: {cell.text}"
                points.append(ChartPoint(nodes, cell.value, low, high, words))
            else:
                note = note or cell.text
            value = Measured(cell.value, cell.spread)
            values.append((row.name, line, nodes, value, cell.spread, note))
        curves.append(Curve(line, points, _ideal(metric, rows[0], points)))
        if points:
            ends_of_line = dict.fromkeys((points[0], points[-1]))
            told = " to ".join(f"{end.y:.4g} on {end.x:g}" for end in ends_of_line)
            sentences.append(f"{line}: {metric.title} {told} nodes, {unit}")
    if sum(len(curve.points) for curve in curves) < 2:
        return
    axis = Axis(f"{metric.title}, {unit}", metric.scale)
    plot = Plot(Axis("nodes", doublings), axis, curves)
    title = _titled(subject, f"{metric.title.capitalize()} against nodes")
    columns = *COLUMNS, Column(name, ".4g"), Column("give or take", ".2g"), Column("note")
    table = Table(columns, tuple(values), title)
    description = f"{'; '.join(sentences)} ({scaling(first)} scaling)."
    yield Chart("sweeps", subject, name, title, description, plot.draw, table)


def _ideal(metric: DrawnMetric, row: Row, points: Sequence[ChartPoint]) -> Sequence[Place]:
    if len(points) < 2:
        return ()
    power = 0 if row.is_bandwidth else metric.power.get(scaling(row), 0)
    first = points[0]
    return [(point.x, first.y * (point.x / first.x) ** power) for point in points]


def heat_maps(report: Report) -> Iterator[Chart]:
    combinations = [row for row in report.rows if row.matrix]
    for rows in grouped(((row.unit, tuple(row.matrix)), row) for row in combinations).values():
        axes = differing(rows)
        names = [*([EFFICIENCY] if NODES in axes else []), "throughput", "latency"]
        for name in names if len(axes) > 1 else ():
            # two benchmarks can share a cell, and a program may tell no steps
            with suppress(SelectionError):
                yield from _heat_map(report, name, rows)


def _heat_map(report: Report, name: str, rows: Rows) -> Iterator[Chart]:
    *down, across = differing(rows)
    named = {row.name for row in rows}
    planned = {key: config for key, config in report.planned.items() if key in named}
    sweep = sweep_of(replace(report, rows=tuple(rows), planned=planned), name, down, [across])
    with suppress(ValueError):  # not all are numbers
        sweep = replace(sweep, columns=tuple(sorted(sweep.columns, key=float)))
    labels, cells = [], []
    for title in sweep.blocks:
        for label, line in sweep.lines(title):
            labels.append(", ".join(label))
            cells.append([HeatCell.of(cell.value, cell.text) for cell in line])
    if any(is_finite(cell.value) for line in cells for cell in line):
        metric = METRICS[name]
        settings, unit = ", ".join(down), metric.unit_of(rows[0])
        value = f"{metric.title}, {unit}"
        drawn = HeatMap(settings, across, value, labels, sweep.columns, cells)
        what = metric.title.capitalize()
        subject = _shared(rows)
        title = _titled(subject, f"{what} by {settings} and {across}")
        size = f"{len(labels)} x {len(sweep.columns)}"
        description = f"{what} ({unit}) of {size} combinations."
        table = replace(sweep_table(sweep), title=title)
        yield Chart("heat_maps", subject, name, title, description, drawn.draw, table)


def _settings(rows: Rows) -> list[str]:
    return [axis for axis in differing(rows) if axis != NODES]


def _shared(rows: Rows) -> str:
    differ = {NODES, *differing(rows)}
    return _values(rows[0], [axis for axis in rows[0].matrix if axis not in differ])


def _values(row: Row, axes: Sequence[str]) -> str:
    return ", ".join(setting_of(row, axis) for axis in axes)


def _titled(subject: str, title: str) -> str:
    return f"{subject}: {title[0].lower()}{title[1:]}" if subject else title
