"""The frame of a chart: its axes, what is shaded in it, and the legend below it."""

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from .scale import MakeScale, Scale, linear
from .svg import SIZE, Drawing, Place, box, label, line, path, shortened, widest
from .theme import AREAS, MARKERS, shape

LINE = 1.5 * SIZE
GAP = 6.0
ABOVE = 1.5 * LINE  # the room of the name of a vertical axis
MIDDLE = 0.35 * SIZE  # from the base line of a text up to its middle
SWATCH = 28.0  # of a legend
NO_SCALE = Scale((0.0, 1.0), ())


class Axis(Struct, frozen=True):
    """An axis: what it shows, with the unit, and how it makes its scale."""

    name: str
    scale: MakeScale = linear


class Axes(Struct, frozen=True):
    """A frame in a drawing, from values to places in it."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    x_name: str
    y: Scale = NO_SCALE
    y_name: str = ""
    inset: float = 0.0  # free room at both ends of the horizontal scale
    shift: float = 0.0  # to the right

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def x_of(self, value: float) -> float:
        return self.left + self.inset + self.shift + self.x.share(value) * self._across

    def y_of(self, value: float) -> float:
        return self.bottom - self.y.share(value) * self.height

    def place(self, x: float, y: float) -> Place:
        return self.x_of(x), self.y_of(y)

    def line(self, values: Iterable[Place]) -> str:
        """The line through values, as the text of a path."""
        return line(self.place(x, y) for x, y in values)

    def horizontal(self) -> Iterator[str]:
        """The axis below: its grid, its ticks, and its name."""
        places = [self.x_of(tick) for tick in self.x.ticks]
        yield shape("grid", "".join(path("M", x, self.top, "v", self.height) for x in places))
        room = self._across / max(len(places) - 1, 1)
        yield from labels(self.x.texts, places, room, self.bottom + LINE - 4)
        middle = self.left + self.inset + self._across / 2
        name = shortened(self.x_name, self._across)
        yield label(name, middle, self.bottom + 2 * LINE - 2, "muted", "middle")

    def vertical(self) -> Iterator[str]:
        """The axis on the left: its grid, its ticks, and above them its name."""
        places = [self.y_of(tick) for tick in self.y.ticks]
        yield shape("grid", "".join(path("M", self.left, y, "h", self.width) for y in places))
        for y, words in zip(places, self.y.texts, strict=True):
            yield label(words, self.left - GAP, y + MIDDLE, anchor="end")
        yield label(shortened(self.y_name, self.right), 0, self.top - LINE / 2, "muted")

    @property
    def _across(self) -> float:
        return self.width - 2 * self.inset


class Span(Struct, frozen=True):
    """A part of the horizontal axis that stands out."""

    name: str
    begin: float  # finite, as the end
    end: float
    kind: str = "shade"  # or one of ``AREAS``

    def draw(self, axes: Axes) -> str:
        begin, end = axes.x_of(self.begin), axes.x_of(self.end)
        return shape(self.kind, box(begin, axes.top, end - begin, axes.height))


class LegendEntry(Struct, frozen=True):
    """A name, and what is drawn before it: a line, with a marker or without, or an area."""

    name: str
    kind: str
    marker: int | None = None

    def swatch(self, x: float, y: float) -> str:
        """What is drawn before the name, from x on and around y."""
        if self.kind == "shade" or self.kind in AREAS:
            return shape(self.kind, box(x, y - 5, SWATCH, 10))
        drawn = shape(self.kind, path("M", x, y, "h", SWATCH))
        return drawn if self.marker is None else drawn + marker(self.marker, x + SWATCH / 2, y)


def framed(
    axes: Axes,
    spans: Sequence[Span],
    inside: Iterable[str],
    entries: Sequence[LegendEntry],
    width: float,
) -> Drawing:
    """A frame with its axes and what is in it, and below it the legend.

    Args:
        axes: the frame.
        spans: what is shaded in it.
        inside: the elements that stand on the shades and the grid.
        entries: of the legend, without the spans.
        width: of the whole drawing.
    """
    drawn = [*(span.draw(axes) for span in spans), *axes.horizontal()]
    left = 0.0
    if axes.y_name:
        drawn += axes.vertical()
        left = axes.left
    outline = shape("axis", box(axes.left, axes.top, axes.width, axes.height))
    entries = [*entries, *(LegendEntry(span.name, span.kind) for span in spans)]
    bottom = axes.bottom + 2 * LINE + GAP
    below, height = legend(entries, left, bottom, width - left)
    return Drawing(bottom + height, (*drawn, outline, *inside, *below))


def legend(
    entries: Sequence[LegendEntry], left: float, top: float, width: float
) -> tuple[list[str], float]:
    """The elements of a legend, and how high it is."""
    names = [shortened(entry.name, width - SWATCH - GAP) for entry in entries]
    room = SWATCH + widest(names) + 4 * GAP
    columns = max(int((width + 3 * GAP) / room), 1)
    drawn = []
    for index, (entry, name) in enumerate(zip(entries, names, strict=True)):
        x = left + index % columns * room
        y = top + (index // columns + 0.5) * LINE
        drawn += [entry.swatch(x, y), label(name, x + SWATCH + GAP, y + MIDDLE)]
    return drawn, math.ceil(len(entries) / columns) * LINE


def marker(index: int, x: float, y: float, hint: str = "") -> str:
    """The marker of a curve, with what is shown under the pointer."""
    return shape(f"marker marker{index}", path("M", x, y) + MARKERS[index], hint)


def labels(
    names: Sequence[str],
    middles: Sequence[float],
    room: float,
    base: float,
    most: float = math.inf,
) -> Iterator[str]:
    """Names in a row: where not all have room, each second one, each third one and so on.

    Args:
        names: the texts.
        middles: the middle of each, from left to right.
        room: from one middle to the next.
        base: the base line.
        most: the width of a name, of which more is cut off if it has no room.
    """
    every = max(math.ceil((min(widest(names), most) + GAP) / room), 1)
    for name, x in list(zip(names, middles, strict=True))[::every]:
        yield label(shortened(name, every * room - 2), x, base, anchor="middle")
