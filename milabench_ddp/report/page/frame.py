"""The frame of a page: one file that has all it needs, and asks for nothing.

Its content security policy lets nothing run or load but the one script and the one style sheet that
are in it, by their hashes.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ... import __version__
from ..charts.theme import PAGE_STYLE, TEXTURES
from .markup import Html, tag

GENERATOR = "milabench_ddp"
ASSETS = Path(__file__).with_name("assets")
SCRIPTS = ("uPlot.iife.min.js", "courses.js", "page.js")
STYLES = ("uPlot.min.css", "page.css")
NO_SCRIPT = (
    "Without JavaScript the charts over time are not drawn, and tables are neither sorted nor "
    "filtered."
)


def html_page(title: str, body: Sequence[Html]) -> str:
    """A page with this title; its body may have charts of ``report/charts``."""
    policy = (
        f"default-src 'none'; script-src {hash_of(script())}; style-src {hash_of(style())}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = [
        Html('<meta charset="utf-8">'),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{title}: milabench"),
        tag("style", Html(style())),
    ]
    shown = [
        tag("svg", Html(TEXTURES), class_="chart textures", aria_hidden="true"),
        tag("noscript", tag("p", NO_SCRIPT)),
        *body,
        tag("script", Html(script())),
    ]
    page = tag("html", tag("head", *head), tag("body", *shown), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


@cache
def script() -> str:
    return _assets(*SCRIPTS)


@cache
def style() -> str:
    """The style sheet of a page, with that of its charts."""
    return PAGE_STYLE + _assets(*STYLES)


def _assets(*names: str) -> str:
    return "\n".join((ASSETS / name).read_text("utf-8") for name in names)


def hash_of(content: str) -> str:
    """A script or a style sheet, as a content security policy names it."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
