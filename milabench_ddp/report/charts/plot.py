"""A plot of lines over two axes: with markers and intervals, or with a band around each."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...results.records import is_finite
from ..statistics.values import NAN
from .frame import BELOW, GAP, LINE, Area, Frame, horizontal_axis, outline, vertical_axis
from .legend import Entry, legend, marker
from .legend import area as area_of
from .scale import MakeScale, Scale, linear, reachable
from .svg import Drawing, Place, box, element, hint, number, path, widest
from .theme import SERIES

HEIGHT = 200.0  # of the frame
ABOVE = 1.5 * LINE  # the room of the name of the vertical axis
CAP = 4.0  # half the width of the end of a whisker
ROOM_FOR_MARKER, ASIDE = 12.0, 6.0
MOST_MARKED = 64  # points of a line, more of which have no markers


class Axis(Struct, frozen=True):
    """An axis: what it shows, with the unit, and how it makes its scale."""

    name: str
    scale: MakeScale = linear


class Point(Struct, frozen=True):
    """A value, and the ends of what is around it: an interval, or the least and the most."""

    x: float
    y: float
    low: float = NAN
    high: float = NAN
    words: str = ""  # shown under the pointer

    @property
    def has_interval(self) -> bool:
        """Whether both ends of its interval are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


class Line(Struct, frozen=True):
    """A line through points; those that are not finite are left out."""

    name: str
    points: tuple[Point, ...]
    ideal: tuple[Place, ...] = ()  # the values that it is compared with
    is_band: bool = False  # many points, with a band around them instead of whiskers


class Shade(Struct, frozen=True):
    """A part of the horizontal axis that stands out."""

    name: str
    begin: float
    end: float
    kind: str = "shade"  # or one of ``TEXTURES``

    def draw(self, scale: Scale, area: Area) -> str:
        """Draw it over the whole height of an area; empty where an end is not known."""
        if not (is_finite(self.begin) and is_finite(self.end)):
            return ""
        begin, end = area.at_x(scale, self.begin), area.at_x(scale, self.end)
        return area_of(self.kind, box(begin, area.top, end - begin, area.height))


class Plot(Struct, frozen=True):
    """Lines over two axes."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]  # at most ``SERIES``
    shades: tuple[Shade, ...] = ()

    def draw(self, width: float) -> Drawing:
        """Draw the plot."""
        lines = [_known(line) for line in self.lines[:SERIES]]
        points = [point for line in lines for point in line.points]
        ideal = [place for line in lines for place in line.ideal]
        x = self.x.scale([*(point.x for point in points), *(at for at, _ in ideal)])
        y = self.y.scale([*_values(lines), *(value for _, value in ideal)])
        left, right = widest(y.texts) + 2 * GAP, widest(x.texts[-1:]) / 2 + GAP
        whole = Area(left, ABOVE, width - left - right, HEIGHT)
        shifts = _shifts(lines)
        is_marked = any(_marker_of(line, 0) is not None for line in lines)
        inset = ROOM_FOR_MARKER + max(shifts, default=0.0) if is_marked else 0.0
        frame = Frame(x, y, replace(whole, left=left + inset, width=whole.width - 2 * inset))
        bottom = whole.bottom + BELOW
        below, height = legend(_entries(lines, self.shades), left, bottom, width - left)
        drawn = [
            *(shade.draw(x, frame.area) for shade in self.shades),
            *horizontal_axis(x, self.x.name, frame.area),
            *vertical_axis(y, self.y.name, whole),
            outline(whole),
        ]
        for line in lines:
            if len(line.ideal) > 1:
                drawn.append(element("path", class_="ideal", d=frame.path(line.ideal)))
        for index, (line, shift) in enumerate(zip(lines, shifts, strict=True)):
            area = replace(frame.area, left=frame.area.left + shift)
            drawn += _line(line, index, replace(frame, area=area))
        return Drawing(bottom + height, (*drawn, *below))


def _values(lines: Sequence[Line]) -> Iterator[float]:
    """What the vertical axis shows: all values and bands, and intervals as far as they reach."""
    values = [point.y for line in lines for point in line.points]
    yield from values
    for line in lines:
        ends = [end for point in line.points for end in (point.low, point.high)]
        yield from ends if line.is_band else reachable(values, ends)


def _shifts(lines: Sequence[Line]) -> list[float]:
    """How far each line stands aside, so that the intervals of several are seen."""
    with_whiskers = 0
    for line in lines:
        with_whiskers += not line.is_band and any(point.has_interval for point in line.points)
    if with_whiskers < 2:
        return [0.0] * len(lines)
    return [ASIDE * (index - (len(lines) - 1) / 2) for index in range(len(lines))]


def _entries(lines: Sequence[Line], shades: Sequence[Shade]) -> list[Entry]:
    """The legend; of a single line it does not repeat what the title says."""
    entries = []
    for index, line in enumerate(lines):
        entries.append(Entry(line.name, f"line line{index}", _marker_of(line, index)))
    entries = entries if len(lines) > 1 else []
    if any(len(line.ideal) > 1 for line in lines):
        entries.append(Entry("ideal", "ideal"))
    return entries + [Entry(shade.name, shade.kind) for shade in shades]


def _known(line: Line) -> Line:
    """The line without what cannot be drawn."""
    points = []
    for point in line.points:
        if is_finite(point.x) and is_finite(point.y):
            points.append(point)
    ideal = [place for place in line.ideal if all(map(is_finite, place))]
    return replace(line, points=tuple(points), ideal=tuple(ideal))


def _marker_of(line: Line, index: int) -> int | None:
    return None if line.is_band or len(line.points) > MOST_MARKED else index


def _line(line: Line, index: int, frame: Frame) -> Iterator[str]:
    """A line with what is around it, its band or its whiskers, and its markers."""
    around = [point for point in line.points if point.has_interval]
    if around and line.is_band:
        upper = [frame.place(point.x, point.high) for point in around]
        lower = [frame.place(point.x, point.low) for point in reversed(around)]
        yield element("path", class_=f"band band{index}", d=f"{path([*upper, *lower])}z")
    if len(line.points) > 1:
        through = frame.path((point.x, point.y) for point in line.points)
        yield element("path", class_=f"line line{index}", d=through)
    if around and not line.is_band:
        whiskers = "".join(_whisker(point, frame) for point in around)
        yield element("path", class_="whisker", d=whiskers)
    shown = _marker_of(line, index)
    if shown is not None or len(line.points) == 1:
        for point in line.points:
            words = hint(point.words) if point.words else ""
            yield marker(index, *frame.place(point.x, point.y), words)


def _whisker(point: Point, frame: Frame) -> str:
    """An interval; an end that is beyond the axis has no cap."""
    x, low = frame.place(point.x, point.low)
    _, high = frame.place(point.x, point.high)
    drawn = f"M{number(x)} {number(low)}V{number(high)}"
    for end, y in ((point.low, low), (point.high, high)):
        if frame.y.holds(end):
            drawn += f"M{number(x - CAP)} {number(y)}h{2 * CAP:g}"
    return drawn
