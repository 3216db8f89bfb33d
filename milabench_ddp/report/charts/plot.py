"""Drawings over axes: curves, with intervals or with a band around each, and rows of bars."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...results.records import is_finite
from ..statistics.values import NAN
from .axes import ABOVE, GAP, MIDDLE, Axes, Axis, LegendEntry, Span, framed, marker
from .scale import reachable
from .svg import Drawing, Place, box, label, path, shortened, widest
from .theme import AREAS, shape

HEIGHT = 200.0  # of the frame
ROOM_FOR_MARKER, ASIDE = 12.0, 6.0
MOST_MARKED = 64  # points of a curve, more of which have no markers
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

    @property
    def has_interval(self) -> bool:
        return not math.isnan(self.low + self.high)


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
        return [point for point in self.points if point.has_interval]


class Plot(Struct, frozen=True):
    """Curves over two axes."""

    x: Axis
    y: Axis
    curves: Sequence[Curve]  # at most ``SERIES``
    spans: Sequence[Span] = ()

    def draw(self, width: float) -> Drawing:
        ideal = [place for curve in self.curves for place in curve.ideal]
        points = [point for curve in self.curves for point in curve.points]
        x = self.x.scale([*(point.x for point in points), *(at for at, _ in ideal)])
        y = self.y.scale([*_heights(self.curves), *(value for _, value in ideal)])
        left, right = widest(y.texts) + 2 * GAP, widest(x.texts[-1:]) / 2 + GAP
        shifts = _shifts(self.curves)
        has_markers = any(curve.has_markers for curve in self.curves)
        inset = ROOM_FOR_MARKER + max(shifts, default=0.0) if has_markers else 0.0
        across = width - left - right
        axes = Axes(left, ABOVE, across, HEIGHT, x, self.x.name, y, self.y.name, inset)
        entries = []
        for index, curve in enumerate(self.curves):
            at = index if curve.has_markers else None
            entries.append(LegendEntry(curve.name, f"line line{index}", at))
        entries = entries if len(entries) > 1 else []  # of one curve the title says what it is
        lines = [curve.ideal for curve in self.curves if len(curve.ideal) > 1]
        if lines:
            entries.append(LegendEntry("ideal", "ideal"))
        drawn = [shape("ideal", axes.line(places)) for places in lines]
        for index, (curve, shift) in enumerate(zip(self.curves, shifts, strict=True)):
            drawn += _curve(curve, index, replace(axes, shift=shift))
        return framed(axes, self.spans, drawn, entries, width)


def _heights(curves: Sequence[Curve]) -> Iterator[float]:
    values = [point.y for curve in curves for point in curve.points]
    yield from values
    for curve in curves:
        ends = [end for point in curve.points for end in (point.low, point.high)]
        yield from ends if curve.is_band else reachable(values, ends)


def _shifts(curves: Sequence[Curve]) -> list[float]:
    """How far each curve stands aside, so that the intervals of several are seen."""
    with_whiskers = sum(not curve.is_band and bool(curve.around) for curve in curves)
    if with_whiskers < 2:
        return [0.0] * len(curves)
    return [ASIDE * (index - (len(curves) - 1) / 2) for index in range(len(curves))]


def _curve(curve: Curve, index: int, axes: Axes) -> Iterator[str]:
    around = curve.around
    if around and curve.is_band:
        upper = [(point.x, point.high) for point in around]
        lower = [(point.x, point.low) for point in reversed(around)]
        yield shape(f"band band{index}", f"{axes.line([*upper, *lower])}z")
    if len(curve.points) > 1:
        yield shape(f"line line{index}", axes.line((point.x, point.y) for point in curve.points))
    if around and not curve.is_band:
        yield shape("whisker", "".join(_whisker(point, axes) for point in around))
    if curve.has_markers or len(curve.points) == 1:
        for point in curve.points:
            yield marker(index, *axes.place(point.x, point.y), point.words)


def _whisker(point: ChartPoint, axes: Axes) -> str:
    """An interval; an end that is beyond the axis has no cap."""
    x, low, high = axes.x_of(point.x), axes.y_of(point.low), axes.y_of(point.high)
    drawn = path("M", x, low, "V", high)
    for end, y in ((point.low, low), (point.high, high)):
        if axes.y.holds(end):
            drawn += path("M", x - CAP, y, "h", 2 * CAP)
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
        drawn = []
        if is_finite(self.line):
            drawn.append(shape("ideal", path("M", axes.x_of(self.line), TOP, "v", axes.height)))
        middles = [TOP + high * (index + 0.5) for index in range(len(self.rows))]
        boxes: dict[str, str] = dict.fromkeys(AREAS, "")
        for row, y in zip(self.rows, middles, strict=True):
            done = 0.0
            for kind, length in row.lengths:
                begin, end = axes.x_of(done), axes.x_of(done + length)
                boxes[kind] += box(begin, y - thick / 2, end - begin, thick)
                done += length
        # one path for each kind of area, because there can be many
        drawn += [shape(kind, path) for kind, path in boxes.items() if path]
        for row, y in zip(self.rows, middles, strict=True):
            drawn += _beside(row, y, axes, width)
        entries = [LegendEntry(name, kind) for kind, name in self.names]
        return framed(axes, self.spans, drawn, entries, width)


def _beside(row: Bar, y: float, axes: Axes, width: float) -> Iterator[str]:
    room = axes.left - GAP
    yield label(shortened(row.label, room), room, y + MIDDLE, anchor="end")
    if not math.isnan(row.low + row.high):
        low, high = axes.x_of(row.low), axes.x_of(row.high)
        drawn = path("M", low, y, "H", high)
        for end, x in ((row.low, low), (row.high, high)):
            if axes.x.holds(end):  # one that is beyond the axis has no cap
                drawn += path("M", x, y - CAP, "v", 2 * CAP)
        yield shape("whisker", drawn)
    if is_finite(row.mark):
        yield marker(row.marker, axes.x_of(row.mark), y, f"{row.label}: {row.words}")
    if row.words:
        words = shortened(row.words, width - axes.right - GAP)
        yield label(words, axes.right + GAP, y + MIDDLE)
