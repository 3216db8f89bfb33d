"""The pages around the reports: the list of runs, and the progress of one that goes on."""

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from ...render.html import render
from .served_runs import Progress

_HERE = Path(__file__).parent
STYLE = Markup((_HERE / "pages.css").read_text("utf-8"))
SCRIPT = Markup((_HERE / "follow.js").read_text("utf-8"))


def list_page(runs: Mapping[str, Progress]) -> str:
    return str(render("runs.html", runs=runs, style=STYLE))


def run_page(key: str, run: Progress) -> str:
    return str(render("run.html", key=key, run=run, style=STYLE, script=SCRIPT))
