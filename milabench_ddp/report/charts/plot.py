"""Drawings over axes: curves, with intervals or with a band around each, and rows of bars."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ...results.records import is_finite
from ..statistics.values import NAN
from .axes import ABOVE, GAP, LINE, Axes, Axis, LegendEntry, Span, framed
from .scale import reachable
from .svg import Drawing, Place, box, shortened, widest
from .theme import AREAS

HEIGHT = 200.0  # of the frame
ROOM_FOR_MARKER = 12.0
MOST_MARKED = 64  # points of a curve, more of which have no markers
MARK_LINES = 3  # of the words of marks
CAP = 4.0  # half the width of the end of a whisker
ROW, BAR = 22.0, 14.0  # the heights of a row, and of its bar
LOW_ROW, LOW_BAR, MANY = 15.0, 12.0, 24  # where there are many rows
TOP = 4.0
MOST_LABEL, MOST_WORDS = 0.42, 0.34  # of the width


class ChartPoint(Struct, frozen=True):
    """A finite value, and the ends of what is around it: an interval, or the least and the most."""

    x: float
    y: float
    low: float = NAN
    high: float = NAN
    words: str = ""  # shown under the pointer


class Curve(Struct, frozen=True):
    """A line through points."""

    name: str
    points: Sequence[ChartPoint]
    ideal: Sequence[Place] = ()  # the values that it is compared with
    is_band: bool = False  # many points, with a band around them instead of whiskers

    @property
    def has_markers(self) -> bool:
        return not self.is_band and len(self.points) <= MOST_MARKED

    @property
    def around(self) -> list[ChartPoint]:
        return [each for each in self.points if not math.isnan(each.low + each.high)]


class Mark(Struct, frozen=True):
    """A place of the horizontal axis with a line and words."""

    x: float
    words: str


class Plot(Struct, frozen=True):
    """Curves over two axes."""

    x: Axis
    y: Axis
    curves: Sequence[Curve]  # at most ``SERIES``
    spans: Sequence[Span] = ()
    marks: Sequence[Mark] = ()

    def draw(self, width: float) -> Drawing:
        ideal = [place for curve in self.curves for place in curve.ideal]
        points = [point for curve in self.curves for point in curve.points]
        x = self.x.scale([*(point.x for point in points), *(at for at, _ in ideal)])
        y = self.y.scale([*_heights(self.curves), *(value for _, value in ideal)])
        left, right = widest(y.texts) + 2 * GAP, widest(x.texts[-1:]) / 2 + GAP
        has_markers = any(curve.has_markers for curve in self.curves)
        inset = ROOM_FOR_MARKER if has_markers else 0.0
        across = width - left - right
        axes = Axes(left, ABOVE, across, HEIGHT, x, self.x.name, y, self.y.name, inset)
        entries = []
        for index, curve in enumerate(self.curves if len(self.curves) > 1 else ()):
            # of one curve the title says what it is
            at = index if curve.has_markers else None
            entries.append(LegendEntry(curve.name, f"line line{index}", at))
        ideals = [axes.line(each.ideal) for each in self.curves if len(each.ideal) > 1]
        if ideals:
            entries.append(LegendEntry("ideal", "ideal"))
        curves = [_drawn(curve, axes) for curve in self.curves]
        return framed(
            "plot.html", axes, self.spans, entries, width, ideals=ideals, curves=curves, cap=CAP,
            marks=list(_marked(self.marks, axes)),
        )  # fmt: skip


def _marked(marks: Sequence[Mark], axes: Axes) -> Iterator[tuple[float, str, float, float, str]]:
    """Of each mark its place, its words, and where they begin or end: those beside it are lower."""
    for index, mark in enumerate(marks):
        x, y = axes.x_of(mark.x), axes.top + LINE * (1 + index % MARK_LINES)
        ends = x > axes.left + axes.width / 2
        room = (x - axes.left if ends else axes.right - x) - 2 * GAP
        at = x - GAP if ends else x + GAP
        yield x, shortened(mark.words, room), at, y, "end" if ends else "start"


def _heights(curves: Sequence[Curve]) -> Iterator[float]:
    values = [point.y for curve in curves for point in curve.points]
    yield from values
    for curve in curves:
        ends = [end for point in curve.points for end in (point.low, point.high)]
        yield from ends if curve.is_band else reachable(values, ends)


def _drawn(curve: Curve, axes: Axes) -> dict[str, object]:
    around = curve.around
    drawn: dict[str, object] = {"band": "", "whiskers": [], "points": [], "line": ""}
    if around and curve.is_band:
        upper = [(point.x, point.high) for point in around]
        lower = [(point.x, point.low) for point in reversed(around)]
        drawn["band"] = f"{axes.line([*upper, *lower])}z"
    elif around:
        whiskers = []
        for point in around:
            # an end that is beyond the axis has no cap
            caps = [axes.y_of(end) for end in (point.low, point.high) if axes.y.holds(end)]
            whiskers.append((axes.x_of(point.x), axes.y_of(point.low), axes.y_of(point.high), caps))
        drawn["whiskers"] = whiskers
    if len(curve.points) > 1:
        drawn["line"] = axes.line((point.x, point.y) for point in curve.points)
    if curve.has_markers or len(curve.points) == 1:
        drawn["points"] = [(*axes.place(each.x, each.y), each.words) for each in curve.points]
    return drawn


class Bar(Struct, frozen=True):
    """A row: what is not finite in it is not drawn."""

    label: str
    parts: Sequence[tuple[str, object]] = ()  # areas of ``AREAS``, and how long each is
    low: float = NAN  # the interval
    high: float = NAN
    mark: float = NAN
    marker: int = 0
    words: str = ""  # at the right end of the row

    @property
    def lengths(self) -> list[tuple[str, float]]:
        return [(kind, part) for kind, part in self.parts if is_finite(part) and part > 0]


class Bars(Struct, frozen=True):
    """Rows over a common axis: a bar or several in each, an interval, a mark, and words."""

    axis: Axis
    rows: Sequence[Bar]
    names: Sequence[tuple[str, str]] = ()  # the areas and their names, for the legend
    spans: Sequence[Span] = ()
    line: float = NAN  # a value that the rows are compared with

    def draw(self, width: float) -> Drawing:
        values = [self.line, *(row.mark for row in self.rows)]
        values += [sum(length for _, length in row.lengths) for row in self.rows if row.parts]
        ends = [end for row in self.rows for end in (row.low, row.high)]
        scale = self.axis.scale([*values, *reachable(values, ends)])
        high, thick = (ROW, BAR) if len(self.rows) <= MANY else (LOW_ROW, LOW_BAR)
        left = min(widest(row.label for row in self.rows), MOST_LABEL * width) + GAP
        right = min(widest(row.words for row in self.rows), MOST_WORDS * width) + 2 * GAP
        right = max(right, widest(scale.texts[-1:]) / 2 + GAP)
        down = high * max(len(self.rows), 1)
        axes = Axes(left, TOP, width - left - right, down, scale, self.axis.name)
        areas: dict[str, str] = dict.fromkeys(AREAS, "")  # one path for each, as there can be many
        rows = []
        for index, row in enumerate(self.rows):
            y = TOP + high * (index + 0.5)
            done = 0.0
            for kind, length in row.lengths:
                begin, end = axes.x_of(done), axes.x_of(done + length)
                areas[kind] += box(begin, y - thick / 2, end - begin, thick)
                done += length
            whisker = None
            if not math.isnan(row.low + row.high):
                # an end that is beyond the axis has no cap
                caps = [axes.x_of(end) for end in (row.low, row.high) if axes.x.holds(end)]
                whisker = axes.x_of(row.low), axes.x_of(row.high), caps
            rows.append({
                "y": y, "label": shortened(row.label, left - GAP), "whisker": whisker,
                "mark": axes.x_of(row.mark) if is_finite(row.mark) else None, "marker": row.marker,
                "hint": f"{row.label}: {row.words}",
                "words": shortened(row.words, width - axes.right - GAP),
            })  # fmt: skip
        entries = [LegendEntry(name, kind) for kind, name in self.names]
        ideal = axes.x_of(self.line) if is_finite(self.line) else None
        return framed(
            "bars.html", axes, self.spans, entries, width, ideal=ideal, areas=areas, rows=rows,
            cap=CAP,
        )  # fmt: skip
