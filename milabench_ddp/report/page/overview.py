"""The top of the page: the verdict, what ran where, and the main table."""

import math
from collections import defaultdict

from ...table import Column, without_unknown
from ..finding import Severity
from ..model import Report, Row
from ..sentences import run_facts, score, skip_reason, verdict
from ..tables.main_table import table_of
from .finding_cards import badges
from .html_table import cell, head, scrolled
from .markup import Anchors, Html, joined, link, tag

SPARK_WIDTH, SPARK_HEIGHT, SPARK_POINTS = 96, 20, 32
BAR_WIDTH, WHOLE_BAR = 72, 0.05  # an interval of +- 5 % fills the bar
LEFT_OUT = ("weight",)


def verdict_strip(report: Report) -> Html:
    """The verdict, the findings by their severity, and the score."""
    word, _, rest = verdict(report).partition(": ")
    kind = "error" if word == "FAIL" else "good" if report.passed else "open"
    parts = [tag("strong", word, class_=f"verdict {kind}"), tag("span", rest)]
    parts += badges(report.findings) or [tag("span", "no findings", class_="badge")]
    parts.append(tag("span", f"score {score(report)}", class_="quiet"))
    return tag("div", *parts, class_="strip")


def runs(report: Report) -> Html:
    """What ran, where, when, of which versions."""
    found = []
    for run in report.runs:
        pairs = [(name, said) for name, said in run_facts(run).items() if said]
        lines = [joined([tag("dt", name), tag("dd", said)]) for name, said in pairs]
        found.append(tag("dl", *lines, class_="run"))
    return joined(found)


def overview_table(report: Report, anchors: Anchors) -> Html:
    """The main table: names link to sections, with the rate over time and the interval as a bar."""
    table = without_unknown(table_of(report))
    shown = [k for k, column in enumerate(table.columns) if column.name not in LEFT_OUT]
    columns = [table.columns[k] for k in shown]
    names = [column.name for column in columns]
    at = 1 + names.index("perf") if "perf" in names else len(names)
    drawn = [Column("over time"), Column("± of 5 %")]
    findings = defaultdict(list)
    for finding in report.findings:
        findings[finding.benchmark].append(finding)
    body = []
    for row, values in zip(report.rows, table.rows, strict=True):
        cells = [cell(c, values[k]) for c, k in zip(columns, shown, strict=True)]
        name = link(anchors.of(row.name), row.name)
        cells[0] = tag("th", name, scope="row")
        own = findings[row.name]
        cells[at:at] = [tag("td", spark(row)), tag("td", bar(row))]
        found = tag("td", joined(badges(own), " "))
        words = " ".join(sorted({each.severity for each in own}))
        body.append(
            tag(
                "tr",
                cells[0],
                found,
                *cells[1:],
                data_name=row.name,
                data_found=words,
                data_id=anchors.of(row.name),
            )
        )
    titles = [columns[0], Column("findings"), *columns[1:at], *drawn, *columns[at:]]
    inside = scrolled("Benchmarks", head(titles), tag("tbody", joined(body)), id="main")
    notes = [tag("p", note, class_="note") for note in table.notes]
    return joined([filters(len(report.rows)), inside, *notes])


def filters(count: int) -> Html:
    """The fields that filter the table, and the sections below."""
    field = tag("input", id="filter", type="search", autocomplete="off")
    options = [
        tag("option", shown, value=value)
        for value, shown in (
            ("", "all"),
            ("any", "with errors or warnings"),
            (Severity.ERROR, "with errors"),
        )
    ]
    return tag(
        "div",
        tag("label", "Filter ", field),
        tag("label", "Findings ", tag("select", joined(options), id="kind")),
        tag("span", f"{count} benchmarks", id="count", role="status"),
        class_="filters",
    )


def spark(row: Row) -> Html:
    """The rate over time of the first process that measured, as a line of a few points."""
    process = next((each for each in row.processes if len(each.measured)), None)
    if process is None:
        return Html("")
    rates = process.measured.lines.rate
    size = -(-len(rates) // SPARK_POINTS)
    means = [float(rates[k : k + size].mean()) for k in range(0, len(rates), size)]
    top = max(means)
    if len(means) < 2 or not top > 0:
        return Html("")
    step = SPARK_WIDTH / (len(means) - 1)
    places = []
    for k, value in enumerate(means):
        places.append(f"{k * step:.0f} {1 + (SPARK_HEIGHT - 2) * (1 - value / top):.0f}")
    line = tag("path", d=f"M{'L'.join(places)}")
    name = f"from {means[0]:,.4g} to {means[-1]:,.4g} {row.unit}"
    return tag(
        "svg", line, class_="spark", viewBox=f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}", role="img",
        aria_label=name,
    )  # fmt: skip


def bar(row: Row) -> Html:
    """The 95 % interval of the rate, as a bar around the mean."""
    half = row.half_width
    if math.isnan(half):
        return Html("")
    middle = BAR_WIDTH / 2
    length = max(min(half / WHOLE_BAR, 1.0) * middle, 0.5)
    parts = [
        tag("path", d=f"M0 6H{BAR_WIDTH}", class_="axis"),
        tag("path", d=f"M{middle - length:.1f} 6h{2 * length:.1f}", class_="interval"),
        tag("path", d=f"M{middle} 2v8", class_="middle"),
    ]
    return tag(
        "svg", *parts, class_="bar", viewBox=f"0 0 {BAR_WIDTH} 12", role="img",
        aria_label=f"give or take {half:.2%}",
    )  # fmt: skip


def skipped(report: Report) -> Html:
    """What was not run, by its reason."""
    names: dict[str, list[str]] = defaultdict(list)
    for run in report.runs:
        for each in run.skipped:
            names[skip_reason(each)].append(each.name)
    items = []
    for reason, several in names.items():
        count = tag("strong", f"{len(several)}: ")
        items.append(tag("li", count, f"{reason}: {', '.join(several)}"))
    return tag("ul", *items) if items else Html("")
