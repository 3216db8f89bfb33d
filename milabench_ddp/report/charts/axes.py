"""The frame of a chart: its axes, what is shaded in it, and the legend below it."""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...render.html import render
from .scale import MakeScale, Scale, linear
from .svg import SIZE, Drawing, Place, box, line, shortened, widest
from .theme import MARKERS

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


class Span(Struct, frozen=True):
    """A part of the horizontal axis that stands out."""

    name: str
    begin: float  # finite, as the end
    end: float
    kind: str = "shade"  # or one of ``AREAS``


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

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def across(self) -> float:
        return self.width - 2 * self.inset

    def x_of(self, value: float) -> float:
        return self.left + self.inset + self.x.share(value) * self.across

    def y_of(self, value: float) -> float:
        return self.bottom - self.y.share(value) * self.height

    def place(self, x: float, y: float) -> Place:
        return self.x_of(x), self.y_of(y)

    def line(self, values: Iterable[Place]) -> str:
        return line(self.place(x, y) for x, y in values)

    def span(self, span: Span) -> str:
        begin = self.x_of(span.begin)
        return box(begin, self.top, self.x_of(span.end) - begin, self.height)


class LegendEntry(Struct, frozen=True):
    """A name, and what is drawn before it: a line, with a marker or without, or an area."""

    name: str
    kind: str
    marker: int | None = None


def framed(
    template: str,
    axes: Axes,
    spans: Sequence[Span],
    entries: Sequence[LegendEntry],
    width: float,
    **inside: object,
) -> Drawing:
    """A frame with its axes and what is in it, and below it the legend.

    Args:
        template: one that extends ``axes.html``.
        entries: of the legend, without the spans.
        inside: what the template draws on the shades and the grid.
    """
    left = axes.left if axes.y_name else 0.0
    entries = [*entries, *(LegendEntry(span.name, span.kind) for span in spans)]
    names = [shortened(entry.name, width - left - SWATCH - GAP) for entry in entries]
    room = SWATCH + widest(names) + 4 * GAP
    columns = max(int((width - left + 3 * GAP) / room), 1)
    bottom = axes.bottom + 2 * LINE + GAP
    legend = []
    for index, (entry, name) in enumerate(zip(entries, names, strict=True)):
        x, y = left + index % columns * room, bottom + (index // columns + 0.5) * LINE
        legend.append((entry, name, x, y))
    places = [axes.x_of(tick) for tick in axes.x.ticks]
    shown = labels(axes.x.texts, places, axes.across / max(len(places) - 1, 1))
    heights = [axes.y_of(tick) for tick in axes.y.ticks]
    middle = axes.left + axes.width / 2
    svg = render(
        template, axes=axes, spans=spans, legend=legend, x_places=places, x_names=shown,
        x_name=shortened(axes.x_name, 2 * min(middle, width - middle)),
        y_name=shortened(axes.y_name, axes.right),
        y_ticks=list(zip(heights, axes.y.texts, strict=False)), markers=MARKERS, box=box,
        frame=box(axes.left, axes.top, axes.width, axes.height), line=LINE, gap=GAP,
        middle=MIDDLE, swatch=SWATCH, **inside,
    )  # fmt: skip
    return Drawing(bottom + math.ceil(len(entries) / columns) * LINE, svg)


def labels(
    names: Sequence[str], middles: Sequence[float], room: float, most: float = math.inf
) -> list[tuple[str, float]]:
    """Names in a row: where not all have room, each second one, each third one and so on.

    Args:
        middles: the middle of each, from left to right.
        room: from one middle to the next.
        most: the width of a name, of which more is cut off if it has no room.
    """
    every = max(math.ceil((min(widest(names), most) + GAP) / room), 1)
    shown = list(zip(names, middles, strict=True))[::every]
    return [(shortened(name, every * room - 2), x) for name, x in shown]
