"""The frame of a page: one file that has all it needs, and asks for nothing.

Its content security policy lets nothing run or load but the one script and the one style sheet that
are in it, by their hashes.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ... import __version__
from ...render.html import html_table, render
from ..charts.chart import WIDTH, Chart
from ..charts.theme import PAGE_STYLE, TEXTURES

GENERATOR = "milabench_ddp"
WIDE = 900.0  # of a chart that has the page for itself
NARROW = 360.0  # of a chart on a telephone


def _assets(*names: str) -> str:
    folder = Path(__file__).with_name("assets")
    return "\n".join((folder / name).read_text("utf-8") for name in names)


SCRIPT = Markup(_assets("uPlot.iife.min.js", "courses.js", "page.js"))
STYLE = Markup(PAGE_STYLE + _assets("uPlot.min.css", "page.css"))


def html_page(template: str, title: str, **values: object) -> str:
    policy = (
        f"default-src 'none'; script-src {hash_of(SCRIPT)}; style-src {hash_of(STYLE)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = render(
        template, title=title, policy=policy, generator=f"{GENERATOR} {__version__}",
        style=STYLE, script=SCRIPT, textures=TEXTURES, **values,
    )  # fmt: skip
    return str(page)


def sections_page(
    title: str,
    badges: Sequence[tuple[str, str]],
    head: Sequence[tuple[str, str]],
    sections: Mapping[str, Sequence[str]],
) -> str:
    """A page other than the report's: the result in a few words, and sections below.

    Args:
        badges: the results in a few words, each with its kind: error, good, quiet or warning.
        sections: their contents by their headings, as HTML, or as sentences of a list; empty ones
            are left out.
    """
    return html_page("sections.html", title, badges=badges, head=head, sections=sections)


def svg_figure(chart: Chart, width: float = WIDTH) -> Markup:
    numbers = html_table(chart.table, left_out=(), label=f"{chart.title}, numbers")
    return render("figure.html", chart=chart, svg=drawings(chart, width), table=numbers)


def drawings(chart: Chart, width: float = WIDE) -> Markup:
    """A chart in two widths, of which the style sheet shows the one that the window has room for.

    Scaled down, its text could not be read.
    """
    return Markup(chart.svg(width, "wide") + chart.svg(NARROW, "narrow"))


def hash_of(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
