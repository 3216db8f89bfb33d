"""A chart: a drawing, what it says in words, and its numbers as a table."""

import hashlib
from collections.abc import Callable, Iterable

from msgspec import Struct

from ...table import Table
from .svg import SIZE, Drawing, box, element, label, shortened, text
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

    def svg(self, width: float = WIDTH) -> str:
        """The chart as an element of a page, without its style: see ``theme``."""
        drawing = self.draw(width)
        size = f"0 0 {width:g} {drawing.height:g}"
        return self._svg(drawing.elements, viewBox=size)

    def file(self, width: float = WIDTH) -> str:
        """The chart as a file of its own, with its title and its style, for paper."""
        drawing = self.draw(width)
        left, top = -MARGIN, -MARGIN - HEADING
        across, down = width + 2 * MARGIN, drawing.height + HEADING + 2 * MARGIN
        # viewers do not draw the background of the root element, and slides can be dark
        paper = element("path", d=box(left, top, across, down), fill="#ffffff")
        heading = label(shortened(self.title, width), 0, -0.6 * SIZE, "heading")
        return self._svg(
            (element("style", paper_style()), TEXTURES, paper, heading,
             *drawing.elements),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"{left:g} {top:g} {across:g} {down:g}",
            width=across,
            height=down,
        )  # fmt: skip

    def _svg(self, inside: Iterable[str], **attributes: str | float) -> str:
        title = element("title", text(self.title), id=f"{self.id}-title")
        said = element("desc", text(self.description), id=f"{self.id}-desc")
        return element(
            "svg", title, said, *inside, class_="chart", role="img",
            aria_labelledby=f"{self.id}-title {self.id}-desc", **attributes,
        )  # fmt: skip
