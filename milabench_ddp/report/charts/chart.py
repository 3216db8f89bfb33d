"""A chart: a drawing, what it says in words, and its numbers as a table."""

import hashlib
from collections.abc import Callable

from markupsafe import Markup
from msgspec import Struct

from ...render.html import render
from ...table import Table
from .svg import SIZE, Drawing, box, shortened
from .theme import TEXTURES, paper_style

WIDTH = 640.0  # of a chart, in units of which the text is 13 high
HEADING, MARGIN = 2 * SIZE, 8.0


class Chart(Struct, frozen=True):
    """A chart of the report.

    ``draw`` makes it as wide as asked for. The numbers of ``table`` are those that are drawn, at
    full precision.
    """

    kind: str  # one of ``CHARTS``, or ``ratios``
    subject: str  # the benchmark or sweep that it is about; empty for all
    part: str  # what tells it from others of its kind and subject, such as the metric; or empty
    title: str
    description: str
    draw: Callable[[float], Drawing]
    table: Table

    @property
    def id(self) -> str:
        words = "\n".join((self.kind, self.subject, self.part, self.title))
        digest = hashlib.sha256(words.encode(errors="replace")).hexdigest()
        return f"chart-{self.kind.replace('_', '-')}-{digest[:10]}"

    def svg(self, width: float = WIDTH, kind: str = "") -> str:
        """The chart as an element of a page, without its ``theme``; ``kind`` is a further class."""
        drawing = self.draw(width)
        made = render(
            "chart.html", id=f"{self.id}{kind}", kind=kind, title=self.title,
            description=self.description, width=f"{width:g}", height=f"{drawing.height:g}",
            drawing=drawing.svg,
        )  # fmt: skip
        return str(made)

    def file(self, width: float = WIDTH) -> str:
        """The chart as a file of its own, with its title and its style, for paper."""
        drawing = self.draw(width)
        left, top = -MARGIN, -MARGIN - HEADING
        across, down = width + 2 * MARGIN, drawing.height + HEADING + 2 * MARGIN
        sizes = {"left": left, "top": top, "across": across, "down": down}
        made = render(
            "chart_file.html", id=self.id, title=self.title, description=self.description,
            style=Markup(paper_style()), textures=TEXTURES, sizes=sizes,
            paper=box(left, top, across, down), heading=shortened(self.title, width),
            drawing=drawing.svg,
        )  # fmt: skip
        return str(made)
