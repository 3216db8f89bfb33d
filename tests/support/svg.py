"""What is drawn in an SVG of the report, read again."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from milabench_ddp.report.charts.svg import SIZE, Drawing

_TOKEN = re.compile(r"[MLHVhvmalz]|-?[\d.]+")
_ARGUMENTS = {"M": 2, "L": 2, "m": 2, "H": 1, "V": 1, "h": 1, "v": 1, "a": 7, "z": 0, "l": 2}
Place = tuple[float, float]


@dataclass(frozen=True)
class Drawn:
    """The elements of an SVG."""

    root: ElementTree.Element

    def paths(self, *classes: str) -> list[list[Place]]:
        """The places of each path that has one of these classes."""
        found = []
        for path in self.root.iter("path"):
            if not set(path.get("class", "").split()).isdisjoint(classes):
                found.append(list(places(path.get("d", ""))))
        return found

    def box(self, class_: str = "axis") -> tuple[float, float, float, float]:
        """The left, top, right and lower end of the only path of a class."""
        (path,) = self.paths(class_)
        xs, ys = zip(*path, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def texts(self) -> list[str]:
        return [text.text or "" for text in self.root.iter("text")]


def parsed(svg: str) -> Drawn:
    return Drawn(ElementTree.fromstring(svg))


def drawn(drawing: Drawing) -> Drawn:
    assert math.isfinite(drawing.height)
    return parsed(f"<svg>{drawing.svg}</svg>")


def places(path: str) -> Iterator[Place]:
    """All places that a path goes to, of an arc its end alone."""
    words = _TOKEN.findall(path)
    assert re.sub(r"[MLHVhvmalz\d.\s-]", "", path) == "", path
    x = y = 0.0
    begin = (0.0, 0.0)
    kind, k = "", 0
    while k < len(words):
        if words[k].isalpha():
            kind, k = words[k], k + 1
        values = [float(word) for word in words[k : k + _ARGUMENTS[kind]]]
        k += len(values)
        match kind:
            case "M" | "L":
                x, y = values
            case "m" | "a" | "l":
                x, y = x + values[-2], y + values[-1]
            case "H":
                x = values[0]
            case "V":
                y = values[0]
            case "h":
                x += values[0]
            case "v":
                y += values[0]
            case "z":
                x, y = begin
        if kind in "Mm":
            begin = x, y
        if kind != "m" or not values:
            yield x, y


def check_fits(drawing: Drawing, width: float) -> None:
    """All texts begin inside the drawing, and no value that is not finite is in it."""
    for text in drawn(drawing).root.iter("text"):
        assert -1 <= float(text.get("x", "nan")) <= width + 1
        assert SIZE / 3 <= float(text.get("y", "nan")) <= drawing.height + 1
    assert not re.search(r'[" ](nan|-?inf)', re.sub(r">[^<]*<", "><", drawing.svg))
