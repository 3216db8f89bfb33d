"""A heat map: a value in each cell of a table, as a number and as a colour."""

import math
from collections.abc import Sequence

from msgspec import Struct

from ..statistics.values import known
from .frame import GAP, LINE
from .svg import SIZE, Drawing, box, element, label, shortened, text_width, widest
from .theme import DARK_HEATS, HEATS

ROW = 24.0
MOST_LABEL = 0.4  # of the width
NARROWEST = 3.4 * SIZE  # a cell with a number of four digits
LOWEST = 6.0  # a cell without a number


class Cell(Struct, frozen=True):
    """A value, NaN where it is not known, and what stands in its place."""

    value: float
    words: str


class HeatMap(Struct, frozen=True):
    """Cells by rows and columns; where all have no room for their words, they have colours."""

    row_name: str
    column_name: str
    value_name: str  # with its unit
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]  # a tuple for each row

    def draw(self, width: float) -> Drawing:
        """Draw the cells."""
        room = max(MOST_LABEL * width, width - GAP - NARROWEST * max(len(self.columns), 3))
        left = min(max(widest(self.rows), text_width(self.row_name)), room) + GAP
        across = (width - left) / max(len(self.columns), 1)
        with_words = across >= NARROWEST
        down = ROW if with_words else max(min(across, ROW), LOWEST)
        top = 2 * LINE
        values = known(cell.value for row in self.cells for cell in row)
        drawn = [
            label(shortened(self.column_name, width - left), left, LINE - 6, "muted"),
            label(shortened(self.row_name, left - GAP), 0, top - 6, "muted"),
            *_labels(self.columns, [left + across * (k + 0.5) for k in range(len(self.columns))],
                     across, top - 6),
        ]  # fmt: skip
        every = max(math.ceil(LINE / down), 1)
        for index, name in enumerate(self.rows):
            y = top + down * index
            if index % every == 0:
                drawn.append(label(shortened(name, left - GAP), 0, y + down / 2 + 0.35 * SIZE))
        boxes: dict[int, list[str]] = {}
        words: list[str] = []
        for i, row in enumerate(self.cells):
            for k, cell in enumerate(row):
                x, y = left + across * k, top + down * i
                heat = heat_of(cell.value, values)
                boxes.setdefault(heat, []).append(box(x, y, across, down))
                if with_words:
                    shown = shortened(cell.words, across - 2)
                    class_ = "muted" if heat < 0 else _contrast(heat)
                    base = y + down / 2 + 0.35 * SIZE
                    words.append(label(shown, x + across / 2, base, class_, "middle"))
        for heat, found in sorted(boxes.items()):
            class_ = f"area heat{heat}" if heat >= 0 else "area shade"
            drawn.append(element("path", class_=class_, d="".join(found)))
        bottom = top + down * len(self.rows)
        key, height = self._key(values, bottom + GAP, width)
        return Drawing(bottom + GAP + height, (*drawn, *words, *key))

    def _key(self, values: Sequence[float], top: float, width: float) -> tuple[list[str], float]:
        """What the colours mean."""
        if not values:
            return [], 0.0
        low, high = f"{min(values):,.4g}", f"{max(values):,.4g}"
        keys = text_width(low) + text_width(high) + HEATS * SIZE + 4 * GAP
        name = shortened(self.value_name, width - keys)
        drawn = [
            label(name, 0, top + LINE - 6, "muted"),
            label(low, text_width(name) + 2 * GAP, top + LINE - 6),
        ]
        x = text_width(name) + text_width(low) + 3 * GAP
        for heat in range(HEATS):
            drawn.append(element("path", class_=f"area heat{heat}", d=box(x, top + 4, SIZE, SIZE)))
            x += SIZE
        drawn.append(label(high, x + GAP, top + LINE - 6))
        return drawn, LINE


def heat_of(value: float, values: Sequence[float]) -> int:
    """The colour of a value among all values, 0 for the lowest; -1 if it is not known."""
    if not known([value]):
        return -1
    low, high = min(values), max(values)
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return 0
    return min(int(HEATS * (value - low) / (high - low)), HEATS - 1)


def _contrast(heat: int) -> str:
    return "on-dark" if heat >= DARK_HEATS else "on-light"


def _labels(
    names: Sequence[str], middles: Sequence[float], across: float, base: float
) -> list[str]:
    """The names of the columns: all that have room."""
    every = max(math.ceil((min(widest(names), 6 * SIZE) + GAP) / across), 1)
    drawn = []
    for name, x in list(zip(names, middles, strict=True))[::every]:
        drawn.append(label(shortened(name, every * across - 2), x, base, anchor="middle"))
    return drawn
