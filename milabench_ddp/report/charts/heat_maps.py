"""Heat maps: a metric of a sweep by two of its settings, and the links between ranks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ...errors import SelectionError
from ...results.records import is_finite
from ...table import Column, Table
from ..links import Link, links_of
from ..model import NODES, Report, Row, Rows
from ..statistics.values import NAN
from ..sweeps.metrics import EFFICIENCY
from ..sweeps.settings import differing, setting_of
from ..sweeps.sweep import sweep_of, sweep_table
from .chart import Chart
from .heat_map import Cell, HeatMap
from .sweeps import shared

MOST_ROWS = 24
MOST_RANKS = 96
# How its values are told, and their unit, which is that of the benchmarks if it is empty
METRICS: Mapping[str, tuple[str, str]] = {
    EFFICIENCY: ("efficiency", "1 is ideal"),
    "throughput": ("throughput", ""),
    "latency": ("time of a step", "ms"),
}


def heat_maps(report: Report) -> Iterator[Chart]:
    """A chart for each metric of each sweep that has two axes and more."""
    by_kind: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in report.rows:
        if row.matrix:
            by_kind[row.unit, tuple(row.matrix)].append(row)
    for rows in by_kind.values():
        for subject, part in _parts(rows, shared(rows)):
            axes = differing(part)
            names = list(METRICS) if NODES in axes else list(METRICS)[1:]
            for name in names:
                # two benchmarks can share a cell, and a program may tell no steps
                with suppress(SelectionError):
                    yield from _chart(report, name, subject, part, axes)


def _parts(rows: Rows, subject: str) -> Iterator[tuple[str, Rows]]:
    """The sweep in parts that have few enough rows, by its first settings."""
    axes = differing(rows)
    if len(axes) < 2:
        return
    labels = {tuple(setting_of(row, axis) for axis in axes[:-1]) for row in rows}
    if len(labels) <= MOST_ROWS or len(axes) == 2:
        yield subject, rows
        return
    by_value: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_value[setting_of(row, axes[0])].append(row)
    for value, part in by_value.items():
        yield from _parts(part, ", ".join(filter(None, (subject, value))))


def _chart(
    report: Report, name: str, subject: str, rows: Rows, axes: Sequence[str]
) -> Iterator[Chart]:
    named = {row.name for row in rows}
    planned = {key: config for key, config in report.planned.items() if key in named}
    part = replace(report, rows=tuple(rows), planned=planned)
    *down, across = axes
    sweep = sweep_of(part, name, down, [across])
    columns = _ascending(sweep.columns)
    sweep = replace(sweep, columns=columns)
    labels, cells = [], []
    for title in sweep.blocks:
        for label, line in sweep.lines(title):
            labels.append(", ".join(label))
            cells.append(tuple(Cell(cell.value, _number(cell.value, cell.text)) for cell in line))
    if not any(is_finite(cell.value) for line in cells for cell in line):
        return
    what, unit = METRICS[name]
    unit = unit or rows[0].unit or "units/s"
    drawn = HeatMap(
        ", ".join(down), across, f"{what}, {unit}", tuple(labels), columns, tuple(cells)
    )
    title = f"{what.capitalize()} by {', '.join(down)} and {across}"
    title = f"{subject}: {title[0].lower()}{title[1:]}" if subject else title
    description = f"{what.capitalize()} ({unit}) of {len(labels)} x {len(columns)} combinations."
    table = replace(sweep_table(sweep), title=title)
    yield Chart("heat_maps", subject, name, title, description, drawn.draw, table)


def _ascending(names: Sequence[str]) -> tuple[str, ...]:
    """Names in the order of their numbers, where all are numbers."""
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(names)


def _number(value: float, text: str) -> str:
    """A value as short as a cell; in place of none, its state."""
    if not is_finite(value):
        return text
    return f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"


def links(report: Report) -> Iterator[Chart]:
    """A chart for each benchmark that measured pairs of ranks, and each number of ways."""
    for row in report.rows:
        by_ways: dict[int, list[Link]] = defaultdict(list)
        for link in links_of(row):
            by_ways[link.ways].append(link)
        for ways, found in by_ways.items():
            yield _links(row, ways, found)


def _links(row: Row, ways: int, found: Sequence[Link]) -> Chart:
    slowest = sorted(found, key=lambda link: link.gb_s)
    several = dict.fromkeys(rank for link in slowest for rank in (link.sender, link.receiver))
    ranks = sorted(list(several)[:MOST_RANKS])
    speeds = {(link.sender, link.receiver): link.gb_s for link in found}
    if ways > 1:  # a pair is told once
        speeds |= {(receiver, sender): speed for (sender, receiver), speed in speeds.items()}
    cells = []
    for sender in ranks:
        line = [speeds.get((sender, receiver), NAN) for receiver in ranks]
        cells.append(tuple(Cell(value, _number(value, "")) for value in line))
    names = tuple(map(str, ranks))
    drawn = HeatMap("from rank", "to rank", "GB/s", names, names, tuple(cells))
    way = "one way" if ways == 1 else "both ways"
    title = f"{row.name}: bandwidth between ranks, {way}"
    description = (
        f"The bandwidth of {len(found)} pairs of ranks in GB/s. The slowest is "
        f"{slowest[0].label}: {slowest[0].gb_s:.4g}."
    )
    if len(several) > len(ranks):
        description += f" Of {len(several)} ranks, the {len(ranks)} with the slowest are drawn."
    columns = (Column("from", "d"), Column("to", "d"), Column("GB/s", ".4g"))
    values = tuple((link.sender, link.receiver, link.gb_s) for link in found)
    table = Table(columns, values, title)
    return Chart("links", row.name, way, title, description, drawn.draw, table)
