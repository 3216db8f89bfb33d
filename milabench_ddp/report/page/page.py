"""The report as one HTML file: everything is in it, and it asks for nothing.

Its content security policy lets nothing run or load but the one script and the one style sheet that
are in it, by their hashes. What is not shown at once is compressed, if the page would be large.
"""

import base64
import hashlib
import zlib
from functools import cache
from pathlib import Path

from ... import __version__
from ...codec import encode
from ..model import Report
from ..tables.findings_tables import validation
from .finding_cards import all_findings, badges
from .html_table import html_table
from .markup import Anchors, Html, joined, link, tag
from .overview import overview_table, runs, skipped, verdict
from .section import Section, failure
from .series import points_for

ASSETS = Path(__file__).with_name("assets")
PLAIN = 400_000  # characters of sections up to which they are not compressed
FEW = 3  # benchmarks whose sections are open from the beginning
SCRIPTS = ("uPlot.iife.min.js", "courses.js", "page.js")
STYLES = ("uPlot.min.css", "page.css")
NO_SCRIPT = (
    "Without JavaScript the charts are not drawn, and tables are neither sorted nor filtered."
)
PACKED = "Without JavaScript the sections of the benchmarks cannot be shown: they are compressed."


def report_html(report: Report) -> str:
    """The page."""
    title = ", ".join(run.name for run in report.runs)
    script, style = asset(*SCRIPTS), asset(*STYLES)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = [
        Html('<meta charset="utf-8">'),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"milabench_ddp {__version__}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{title}: milabench"),
        tag("style", Html(style)),
    ]
    body = _body(report, title)
    page = tag(
        "html", tag("head", *head), tag("body", *body, tag("script", Html(script))), lang="en"
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _body(report: Report, title: str) -> list[Html]:
    anchors = Anchors()
    for row in report.rows:
        anchors.of(row.name)
    points = points_for(len(report.rows))
    sections = [Section(report, row, anchors, points) for row in report.rows]
    parts = {
        "findings": ("Findings", all_findings(report, anchors)),
        "benchmarks": ("Benchmarks", _benchmarks(report, anchors)),
        "details": ("Each benchmark", _sections(sections)),
        "failures": ("Failures", _failures(report, sections)),
        "skipped": ("Not run", skipped(report)),
        "validation": ("Validation", html_table(validation(report))),
    }
    shown = {key: part for key, part in parts.items() if part[1]}
    jumps = [tag("li", link(key, heading)) for key, (heading, _) in shown.items()]
    main = []
    for key, (heading, inside) in shown.items():
        main.append(tag("section", tag("h2", heading), inside, id=key))
    header = tag("header", tag("h1", title), verdict(report), runs(report))
    return [
        link("findings", "to the findings", class_="skip"),
        header,
        tag("nav", tag("ul", *jumps), aria_label="parts of the page"),
        tag("noscript", tag("p", NO_SCRIPT)),
        tag("main", *main),
    ]


def _benchmarks(report: Report, anchors: Anchors) -> Html:
    if not report.rows:
        return tag("p", "Nothing was measured.")
    parts = [overview_table(report, anchors)]
    if report.compat:
        said = "The statistics are milabench's own: they include warm-up and failed processes."
        parts.insert(0, tag("p", said))
    return joined(parts)


def _sections(sections: list[Section]) -> Html:
    """The sections, folded where there are more than a few; compressed where they are large."""
    bodies = [section.body() for section in sections]
    is_packed = sum(map(len, bodies)) > PLAIN
    made = []
    if is_packed:
        made.append(tag("noscript", tag("p", PACKED)))
    if len(sections) > FEW:
        made.append(tag("p", tag("button", "open all", type="button", id="open-all")))
    for section, body in zip(sections, bodies, strict=True):
        heading = tag("h3", section.row.name)
        summary = tag("summary", heading, *badges(section.findings))
        data = _data("courses", encode(section.courses)) if section.courses else Html("")
        inside = _data("body", body.encode()) if is_packed else tag("div", body, class_="body")
        attributes = {"id": section.id, "data_name": section.row.name, "class_": "bench"}
        is_open = len(sections) <= FEW
        made.append(tag("details", summary, inside, data, open=is_open, **attributes))
    return joined(made)


def _failures(report: Report, sections: list[Section]) -> Html:
    """The failures of benchmarks that have no section; the others are in theirs."""
    known = {section.row.name for section in sections}
    return joined([failure(each) for each in report.failures if each.benchmark not in known])


def _data(of: str, content: bytes) -> Html:
    """Data for the page's script: compressed, as text that no markup can be in."""
    packed = base64.b64encode(zlib.compress(content, 9)).decode()
    return tag("script", Html(packed), type="text/plain", data_of=of)


@cache
def asset(*names: str) -> str:
    """The files of these names, one after another."""
    return "\n".join((ASSETS / name).read_text("utf-8") for name in names)


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
