"""A heat map: a value in each cell of a table, as a number and as a colour."""

import math
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from ...render.html import render
from ...results.records import is_finite
from ..statistics.values import NAN, known
from .axes import GAP, LINE, MIDDLE, labels
from .svg import SIZE, Drawing, box, shortened, text_width, widest
from .theme import DARK_HEATS, HEATS

ROW = 24.0
MOST_LABEL = 0.4  # of the width
NARROWEST = 3.4 * SIZE  # a cell with a number of four digits
LOWEST = 6.0  # a cell without a number
WIDEST_NAME = 6 * SIZE  # of a column, if it has no room
UNKNOWN = -1  # the heat of what is not known


class HeatCell(Struct, frozen=True):
    """A value, NaN where it is not known, and what stands in its place."""

    value: float
    words: str

    @classmethod
    def of(cls, value: float, state: str = "") -> "HeatCell":
        """A value as short as a cell; in place of none, its state."""
        if not is_finite(value):
            return cls(value, state)
        return cls(value, f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}")


class HeatMap(Struct, frozen=True):
    """Cells by rows and columns; where all have no room for their words, they have colours."""

    row_name: str
    column_name: str
    value_name: str  # with its unit
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatCell]]  # of each row

    def draw(self, width: float) -> Drawing:
        count = len(self.columns)
        room = max(MOST_LABEL * width, width - GAP - NARROWEST * max(count, 3))
        left = min(max(widest(self.rows), text_width(self.row_name)), room) + GAP
        across = (width - left) / max(count, 1)
        with_words = across >= NARROWEST
        down = ROW if with_words else max(min(across, ROW), LOWEST)
        top = 2 * LINE
        middles = [left + across * (k + 0.5) for k in range(count)]
        columns = labels(self.columns, middles, across, WIDEST_NAME)
        names = [
            (shortened(self.column_name, width - left), left, LINE - 6, "muted", ""),
            (shortened(self.row_name, left - GAP), 0.0, top - 6, "muted", ""),
            *((name, x, top - 6, "", "middle") for name, x in columns),
        ]
        every = max(math.ceil(LINE / down), 1)  # one row in so many has its name
        values = known(cell.value for row in self.cells for cell in row)
        low, high = min(values, default=NAN), max(values, default=NAN)
        heats: dict[int, str] = defaultdict(str)
        cells = []
        for i, row in enumerate(self.cells):
            y = top + down * i
            base = y + down / 2 + MIDDLE
            if i % every == 0:
                names.append((shortened(self.rows[i], left - GAP), 0.0, base, "", ""))
            for k, cell in enumerate(row):
                heat = heat_of(cell.value, low, high)
                heats[heat] += box(left + across * k, y, across, down)
                if with_words:
                    cells.append((shortened(cell.words, across - 2), middles[k], base, heat))
        bottom = top + down * len(self.rows) + GAP
        key = self._key(f"{low:,.4g}", f"{high:,.4g}", bottom, width) if values else None
        svg = render(
            "heat_map.html", names=names, heats=sorted(heats.items()), cells=cells, key=key,
            dark=DARK_HEATS,
        )  # fmt: skip
        return Drawing(bottom + (LINE if key else 0.0), svg)

    def _key(self, low: str, high: str, top: float, width: float) -> dict[str, object]:
        keys = text_width(low) + text_width(high) + HEATS * SIZE + 4 * GAP
        name = shortened(self.value_name, width - keys)
        x = text_width(name) + 2 * GAP
        begin = x + text_width(low) + GAP
        boxes = [box(begin + heat * SIZE, top + 4, SIZE, SIZE) for heat in range(HEATS)]
        return {
            "name": name, "low": low, "high": high, "x_low": x, "boxes": boxes,
            "x_high": begin + HEATS * SIZE + GAP, "base": top + LINE - 6,
        }  # fmt: skip


def heat_of(value: float, low: float, high: float) -> int:
    """The colour of a value: 0 for the lowest of all; ``UNKNOWN`` if it is not known."""
    if not is_finite(value):
        return UNKNOWN
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return 0
    return min(int(HEATS * (value - low) / (high - low)), HEATS - 1)
