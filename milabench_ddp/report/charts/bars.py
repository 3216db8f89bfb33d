"""Rows of bars along one axis: a bar or several in a row, an interval, a mark, and words."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ...results.records import is_finite
from ..statistics.values import NAN
from .frame import BELOW, GAP, Area, horizontal_axis, outline
from .legend import Entry, legend, marker
from .legend import area as area_of
from .plot import Axis, Shade
from .scale import Scale, reachable
from .svg import SIZE, Drawing, box, element, hint, label, number, shortened, widest
from .theme import TEXTURES

ROW, BAR = 22.0, 14.0  # the heights of a row, and of its bar
LOW_ROW, LOW_BAR, MANY = 15.0, 12.0, 24  # where there are many rows
CAP = 4.0  # half the height of the end of a whisker
TOP = 4.0
MOST_LABEL, MOST_WORDS = 0.42, 0.34  # of the width


class Bar(Struct, frozen=True):
    """A row: what is not finite in it is not drawn."""

    label: str
    parts: tuple[tuple[str, float], ...] = ()  # areas of ``TEXTURES``, and how long each is
    low: float = NAN  # the interval
    high: float = NAN
    mark: float = NAN
    marker: int = 0
    words: str = ""  # at the right end of the row

    @property
    def values(self) -> list[float]:
        """Its values on the axis, without its interval."""
        whole = [sum(length for _, length in _drawn(self))] if self.parts else []
        return [*whole, self.mark]


class Bars(Struct, frozen=True):
    """Rows over a common axis."""

    axis: Axis
    rows: tuple[Bar, ...]
    names: tuple[tuple[str, str], ...] = ()  # of the areas, for the legend
    shades: tuple[Shade, ...] = ()
    line: float = NAN  # a value that the rows are compared with

    def draw(self, width: float) -> Drawing:
        """Draw the rows."""
        values = [self.line, *(value for row in self.rows for value in row.values)]
        ends = [end for row in self.rows for end in (row.low, row.high)]
        scale = self.axis.scale([*values, *reachable(values, ends)])
        high, thick = (ROW, BAR) if len(self.rows) <= MANY else (LOW_ROW, LOW_BAR)
        left = min(widest(row.label for row in self.rows), MOST_LABEL * width) + GAP
        right = min(widest(row.words for row in self.rows), MOST_WORDS * width) + 2 * GAP
        right = max(right, widest(scale.texts[-1:]) / 2 + GAP)
        area = Area(left, TOP, width - left - right, high * max(len(self.rows), 1))
        drawn = [shade.draw(scale, area) for shade in self.shades]
        drawn += [*horizontal_axis(scale, self.axis.name, area), outline(area)]
        if is_finite(self.line):
            at = number(area.at_x(scale, self.line))
            drawn.append(element("path", class_="ideal", d=f"M{at} {TOP:g}v{number(area.height)}"))
        middles = [TOP + high * (index + 0.5) for index in range(len(self.rows))]
        drawn += _areas(self.rows, middles, thick, scale, area)
        for row, y in zip(self.rows, middles, strict=True):
            drawn += _row(row, y, scale, area, width)
        entries = [Entry(name, kind) for kind, name in self.names]
        entries += [Entry(shade.name, shade.kind) for shade in self.shades]
        bottom = area.bottom + BELOW
        below, height = legend(entries, 0.0, bottom, width)
        return Drawing(bottom + height, (*drawn, *below))


def _drawn(row: Bar) -> Iterator[tuple[str, float]]:
    """The parts of a row that can be drawn."""
    for kind, length in row.parts:
        if is_finite(length) and length > 0:
            yield kind, length


def _areas(
    rows: Sequence[Bar], middles: Sequence[float], thick: float, scale: Scale, area: Area
) -> Iterator[str]:
    """The areas of all rows: one path for each kind, because there can be many."""
    boxes: dict[str, list[str]] = {kind: [] for kind in TEXTURES}
    for row, y in zip(rows, middles, strict=True):
        done = 0.0
        for kind, length in _drawn(row):
            begin, end = area.at_x(scale, done), area.at_x(scale, done + length)
            boxes[kind].append(box(begin, y - thick / 2, end - begin, thick))
            done += length
    for kind, found in boxes.items():
        if found:
            yield area_of(kind, "".join(found))


def _row(row: Bar, y: float, scale: Scale, area: Area, width: float) -> Iterator[str]:
    """What is beside the areas of a row: its label, its interval, its mark, its words."""
    base = y + 0.35 * SIZE
    yield label(shortened(row.label, area.left - GAP), area.left - GAP, base, anchor="end")
    low, high = (area.at_x(scale, v) if v == v else NAN for v in (row.low, row.high))
    if low == low and high == high:
        drawn = f"M{number(low)} {number(y)}H{number(high)}"
        for end, x in ((row.low, low), (row.high, high)):
            if scale.holds(end):  # one that is beyond the axis has no cap
                drawn += f"M{number(x)} {number(y - CAP)}v{2 * CAP:g}"
        yield element("path", class_="whisker", d=drawn)
    if is_finite(row.mark):
        words = hint(f"{row.label}: {row.words}")
        yield marker(row.marker, area.at_x(scale, row.mark), y, words)
    if row.words:
        yield label(shortened(row.words, width - area.right - GAP), area.right + GAP, base)
