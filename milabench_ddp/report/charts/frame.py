"""The frame of a chart: from values to places in it, and its axes."""

from collections.abc import Iterable

from msgspec import Struct

from .scale import Scale
from .svg import SIZE, Place, box, element, label, number, path, shortened, widest

LINE = 1.5 * SIZE
GAP = 6.0
BELOW = 2 * LINE + GAP  # the room of a horizontal axis: its ticks, and its name


class Area(Struct, frozen=True):
    """A part of a drawing."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right end."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower end."""
        return self.top + self.height

    def at_x(self, scale: Scale, value: float) -> float:
        """The place of a value on a horizontal axis."""
        return self.left + scale.share(value) * self.width

    def at_y(self, scale: Scale, value: float) -> float:
        """The place of a value on a vertical axis."""
        return self.bottom - scale.share(value) * self.height


class Frame(Struct, frozen=True):
    """An area with two scales."""

    x: Scale
    y: Scale
    area: Area

    def place(self, x: float, y: float) -> Place:
        """The place of two finite values."""
        return self.area.at_x(self.x, x), self.area.at_y(self.y, y)

    def path(self, values: Iterable[Place]) -> str:
        """The line through values."""
        return path(self.place(x, y) for x, y in values)


def horizontal_axis(scale: Scale, name: str, area: Area) -> list[str]:
    """The axis below an area: its grid, its ticks, and its name."""
    places = [area.at_x(scale, tick) for tick in scale.ticks]
    grid = "".join(f"M{number(x)} {number(area.top)}v{number(area.height)}" for x in places)
    drawn = [element("path", class_="grid", d=grid)]
    # where all texts have no room, each second one, each third one ... stands
    room = area.width / max(len(places) - 1, 1)
    every = 1
    while every < len(places) and every * room < widest(scale.texts) + GAP:
        every += 1
    for x, words in list(zip(places, scale.texts, strict=True))[::every]:
        drawn.append(label(words, x, area.bottom + LINE - 4, anchor="middle"))
    name = shortened(name, area.width)
    middle = area.left + area.width / 2
    drawn.append(label(name, middle, area.bottom + 2 * LINE - 2, "muted", "middle"))
    return drawn


def vertical_axis(scale: Scale, name: str, area: Area) -> list[str]:
    """The axis left of an area: its grid, its ticks, and above them its name."""
    places = [area.at_y(scale, tick) for tick in scale.ticks]
    grid = "".join(f"M{number(area.left)} {number(y)}h{number(area.width)}" for y in places)
    drawn = [element("path", class_="grid", d=grid)]
    for y, words in zip(places, scale.texts, strict=True):
        drawn.append(label(words, area.left - GAP, y + 0.35 * SIZE, anchor="end"))
    drawn.append(label(shortened(name, area.right), 0, area.top - LINE / 2, "muted"))
    return drawn


def outline(area: Area) -> str:
    """The line around an area."""
    drawn = box(area.left, area.top, area.width, area.height)
    return element("path", class_="axis", d=drawn)
