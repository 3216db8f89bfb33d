"""The legend below a chart: what its lines and areas are."""

import math
from collections.abc import Sequence

from msgspec import Struct

from .svg import SIZE, box, element, label, number, shortened, widest
from .theme import MARKERS, TEXTURES, texture_id

SWATCH, GAP, LINE = 28.0, 6.0, 1.5 * SIZE


class Entry(Struct, frozen=True):
    """A name, and what is drawn before it: a line, with a marker or without, or an area."""

    name: str
    class_: str
    marker: int | None = None

    def swatch(self, x: float, y: float) -> str:
        """What is drawn before the name, from x on and around y."""
        if self.class_ == "shade" or self.class_ in TEXTURES:
            return area(self.class_, box(x, y - 5, SWATCH, 10))
        line = element("path", class_=self.class_, d=f"M{number(x)} {number(y)}h{SWATCH:g}")
        return line if self.marker is None else line + marker(self.marker, x + SWATCH / 2, y)


def area(kind: str, drawn: str) -> str:
    """An area of one of ``TEXTURES``, or one that is only shaded."""
    if kind not in TEXTURES:
        return element("path", class_=kind, d=drawn)
    return element("path", class_="area", fill=f"url(#{texture_id(kind)})", d=drawn)


def marker(index: int, x: float, y: float, hint: str = "") -> str:
    """The marker of a line."""
    places = f"M{number(x)} {number(y)}{MARKERS[index]}"
    return element("path", *filter(None, [hint]), class_=f"marker marker{index}", d=places)


def legend(
    entries: Sequence[Entry], left: float, top: float, width: float
) -> tuple[list[str], float]:
    """The elements of a legend, and how high it is."""
    names = [shortened(entry.name, width - SWATCH - GAP) for entry in entries]
    room = SWATCH + widest(names) + 4 * GAP
    columns = max(int((width + 3 * GAP) / room), 1)
    drawn = []
    for index, (entry, name) in enumerate(zip(entries, names, strict=True)):
        x = left + index % columns * room
        y = top + (index // columns + 0.5) * LINE
        drawn.append(entry.swatch(x, y))
        drawn.append(label(name, x + SWATCH + GAP, y + 0.35 * SIZE))
    return drawn, math.ceil(len(entries) / columns) * LINE
