"""The report as a page: the verdict, the findings, the table, then each benchmark, folded.

The sections of benchmarks are compressed where there are many, and so are their series always.
"""

from ...codec import encode_shown
from ..model import Report
from ..tables.findings_tables import validation
from .figures import charts_by_benchmark, sweep_figures
from .finding_cards import all_findings, badges
from .frame import html_page
from .html_table import html_table
from .markup import Anchors, Html, joined, link, tag
from .overview import overview_table, runs, skipped, verdict_strip
from .packing import TOGETHER, Packed, packed
from .section import Section, failure
from .series import points_for

PLAIN = 400_000  # characters of sections up to which they are not compressed
FEW = 3  # benchmarks whose sections are open from the beginning
PACKED = "Without JavaScript the sections of the benchmarks cannot be shown: they are compressed."


def report_html(report: Report) -> str:
    title = ", ".join(run.name for run in report.runs)
    return html_page(title, _body(report, title))


def _body(report: Report, title: str) -> list[Html]:
    anchors = Anchors()
    for row in report.rows:
        anchors.of(row.name)
    points = points_for(len(report.rows))
    charts = charts_by_benchmark(report)
    sections = [
        Section(report, row, anchors, points, charts.get(row.name, ())) for row in report.rows
    ]
    parts = {
        "findings": ("Findings", all_findings(report, anchors)),
        "benchmarks": ("Benchmarks", _benchmarks(report, anchors)),
        "details": ("Each benchmark", _sections(sections)),
        "sweeps": ("Sweeps", sweep_figures(report)),
        "failures": ("Failures", _failures(report, sections)),
        "skipped": ("Not run", skipped(report)),
        "validation": ("Validation", html_table(validation(report))),
    }
    shown = {key: part for key, part in parts.items() if part[1]}
    jumps = [tag("li", link(key, heading)) for key, (heading, _) in shown.items()]
    main = []
    for key, (heading, inside) in shown.items():
        main.append(tag("section", tag("h2", heading), inside, id=key))
    header = tag("header", tag("h1", title), verdict_strip(report), runs(report))
    return [
        link("findings", "to the findings", class_="skip"),
        header,
        tag("nav", tag("ul", *jumps), aria_label="parts of the page"),
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
    made = [tag("noscript", tag("p", PACKED))] if is_packed else []
    if len(sections) > FEW:
        made.append(tag("p", tag("button", "open all", type="button", id="open-all")))
    contents = []
    for place, (section, body) in enumerate(zip(sections, bodies, strict=True)):
        summary = tag("summary", tag("h3", section.row.name), *badges(section.findings))
        inside = tag("div", "" if is_packed else body, class_="body")
        attributes = {
            "id": section.id, "class_": "bench", "data_name": section.row.name,
            "data_place": f"{place // TOGETHER} {place % TOGETHER}",
        }  # fmt: skip
        made.append(tag("details", summary, inside, open=len(sections) <= FEW, **attributes))
        courses = encode_shown(section.courses).decode()
        contents.append(Packed(body if is_packed else "", courses))
    for number, first in enumerate(range(0, len(contents), TOGETHER)):
        data = Html(packed(contents[first : first + TOGETHER]))
        made.append(tag("script", data, type="text/plain", id=f"packed-{number}"))
    return joined(made)


def _failures(report: Report, sections: list[Section]) -> Html:
    known = {section.row.name for section in sections}
    return joined([failure(each) for each in report.failures if each.benchmark not in known])
