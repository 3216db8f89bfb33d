"""The charts of a report, as SVG; each has a title, a description, and its numbers as a table.

A new kind is a function ``Report -> Iterator[Chart]`` here, and a line in ``CHARTS``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter

from msgspec.structs import replace

from ...grouping import grouped
from ...numerics import np
from ...results.records import is_finite
from ...table import Column, Table
from ..collectives import COMPARABLE
from ..fields import perf_of
from ..links import BETWEEN, SpeedMap, links_of
from ..model import Report, Row
from ..ranks.ledger import WAITING
from ..statistics.values import NAN, known
from ..tables.ledger_table import ITEMS, ledger
from ..tables.main_table import main_table
from ..tables.program_tables import curve, size_text
from .axes import Axis
from .chart import Chart
from .heat_map import HeatCell, HeatMap
from .plot import Bar, Bars, ChartPoint, Curve, Plot
from .scale import Scale, doublings, log_if_wide, zero_based
from .sweeps import heat_maps, sweep_charts
from .theme import AREAS, SERIES

COMMUNICATION_AXES = {"bus_gb_s": "bus bandwidth, GB/s", "time_us": "time, us"}  # by the column
# The areas of the items of a ledger, by the titles of their columns
LEDGER_AREAS: Mapping[str, str] = {
    title: name if name in AREAS else "backward" for name, title in ITEMS.items()
}
MOST_BARS = 48  # ranks of a ledger that are drawn
MOST_RANKS = 96  # of a map of links, or nodes


def rate_charts(report: Report) -> Iterator[Chart]:
    measured = [row for row in report.rows if is_finite(row.perf)]
    for rows in grouped((row.unit, row) for row in measured).values():
        unit = rows[0].unit or "units/s"
        bars = []
        texts = {row.name: perf_of(row).text(",.4g") for row in rows}
        for row in rows:
            failed = f", {row.fail:.0f} of {row.n:.0f} failed" if row.fail else ""
            interval = row.interval or (NAN, NAN)
            words = texts[row.name] + failed
            bars.append(Bar(row.name, (("rate", row.perf),), *interval, words=words))
        drawn = Bars(Axis(f"rate, {unit}", zero_based), bars)
        best = max(rows, key=lambda row: row.perf)
        description = (
            "The rate of each benchmark, which is the mean of its processes, with its 95 % "
            f"interval where one is known. The largest is that of {best.name}: {texts[best.name]}."
        )
        title = f"Rates in {unit}"
        yield Chart("rates", "", rows[0].unit, title, description, drawn.draw, main_table(rows))


def ledger_charts(report: Report) -> Iterator[Chart]:
    for row in report.rows:
        table = ledger([row])
        if table:
            yield ledger_chart(row, table)


def ledger_chart(row: Row, table: Table, most: int = MOST_BARS) -> Chart:
    """Where the time of a step goes: the items of the ledger, stacked, for each rank."""
    lines = _records(table)
    items = [column.name for column in table.columns if column.name in LEDGER_AREAS]
    mean, *ranks = lines
    told = [f"{name} {mean[name]:.3g}" for name in items if is_finite(mean[name])]
    words = f"The mean step of all ranks takes {mean['ms']:.4g} ms: {', '.join(told)}."
    if len(ranks) > most:
        order = sorted(range(len(ranks)), key=lambda k: known([ranks[k].get(WAITING)]))
        kept = order[: most // 2] + order[-(most // 2) :]
        lines = [mean, *(ranks[k] for k in sorted(kept))]
        words += (
            f" Of {len(ranks):,} ranks, {len(kept)} are drawn: "
            "those that wait least and most for others."
        )
    bars = []
    for line in lines:
        parts = [(LEDGER_AREAS[name], line[name]) for name in items]
        bars.append(Bar(str(line["rank"]), parts, words=f"{line['ms']:.4g} ms"))
    names = [(LEDGER_AREAS[name], name) for name in items]
    drawn = Bars(Axis("mean step, ms", zero_based), bars, names)
    title = f"{row.name}: where the time of a step goes"
    return Chart("ledger", row.name, "", title, words, drawn.draw, table)


def communication_charts(report: Report) -> Iterator[Chart]:
    for row in report.rows:
        table = curve([row])
        operations = grouped((_operation(line), line) for line in _records(table))
        has_sizes = any(len(lines) > 1 for lines in operations.values())
        for column, name in COMMUNICATION_AXES.items() if has_sizes else ():
            curves, last = [], []
            for operation, lines in list(operations.items())[:SERIES]:
                points = []
                for line in lines:
                    size, value = line["bytes"], line[column]
                    if is_finite(size) and is_finite(value):
                        words = f"{size_text(int(size))}: {value:.4g}"
                        points.append(ChartPoint(float(size), float(value), words=words))
                curves.append(Curve(operation, points))
                if points:
                    largest = size_text(int(points[-1].x))
                    last.append(f"{operation}: {points[-1].y:.4g} at {largest} bytes")
            if last:
                plot = Plot(Axis("bytes", _sizes), Axis(name, log_if_wide), curves)
                what, _, unit = name.partition(", ")
                title = f"{row.name}: {what} by size"
                description = f"{what.capitalize()} ({unit}). {'; '.join(last)}."
                yield Chart("communication", row.name, column, title, description, plot.draw, table)


def _operation(line: Mapping[str, object]) -> str:
    return " ".join([*(str(line[key]) for key in COMPARABLE if line[key]), "ranks"])


def _sizes(values: Iterable[object]) -> Scale:
    scale = doublings(values)
    return replace(scale, texts=tuple(size_text(int(tick)) for tick in scale.ticks))


def link_maps(report: Report) -> Iterator[Chart]:
    for row in report.rows:
        for ways, links in grouped((link.ways, link) for link in links_of(row)).items():
            schedules = grouped((link.schedule, link) for link in links)
            found = max(schedules.values(), key=len)  # not the sample of another schedule
            of_nodes = all(link.kind[0] == BETWEEN for link in found)
            what = "node" if of_nodes else "rank"
            speeds = SpeedMap.of(found, of_nodes=of_nodes)
            known_speeds = np.nan_to_num(speeds.speeds, nan=np.inf)
            slowest_of = np.minimum(known_speeds.min(axis=0), known_speeds.min(axis=1))
            kept = np.sort(np.argsort(slowest_of, kind="stable")[:MOST_RANKS])
            names = [speeds.ends[end] for end in kept.tolist()]
            sent_of = speeds.speeds[np.ix_(kept, kept)].tolist()
            cells = [[HeatCell.of(gb_s) for gb_s in sent] for sent in sent_of]
            drawn = HeatMap(f"from {what}", f"to {what}", "GB/s", names, names, cells)
            way = "one way" if ways == 1 else "both ways"
            title = f"{row.name}: bandwidth between {what}s, {way}"
            slowest, count = min(found, key=attrgetter("gb_s")), len(speeds.ends)
            description = (
                f"The bandwidth of {len(found)} pairs of ranks in GB/s. The slowest is "
                f"{slowest.label}: {slowest.gb_s:.4g}."
            )
            if of_nodes and len(found) > count * (count - 1):
                description += " Of the pairs of ranks of two nodes, the slowest is drawn."
            if count > len(names):
                description += f" Of {count} {what}s, the {len(names)} with the slowest are drawn."
            columns = (Column("from", "d"), Column("to", "d"), Column("GB/s", ".4g"))
            values = tuple((link.sender, link.receiver, link.gb_s) for link in found)
            table = Table(columns, values, title)
            yield Chart("links", row.name, way, title, description, drawn.draw, table)


def _records(table: Table) -> list[dict[str, object]]:
    return [dict(zip(table.names, values, strict=True)) for values in table.rows]


CHARTS: Mapping[str, Callable[[Report], Iterator[Chart]]] = {
    "rates": rate_charts,
    "sweeps": sweep_charts,
    "heat_maps": heat_maps,
    "ledger": ledger_charts,
    "communication": communication_charts,
    "links": link_maps,
}


def charts_of(report: Report) -> Iterator[Chart]:
    for make in CHARTS.values():
        yield from make(report)
