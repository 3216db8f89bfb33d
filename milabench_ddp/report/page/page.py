"""The report as a page: the verdict, the findings, the table, then each benchmark, folded.

The sections of benchmarks are compressed where there are many, and so are their series always.
"""

import base64
import math
import zlib
from collections.abc import Sequence

from markupsafe import Markup
from msgspec.structs import replace

from ...grouping import grouped
from ...render.html import anchors_of, cell, html_table
from ...table import Column, without_unknown
from ..brief import cause_sentence, checked, told_together
from ..charts.catalogue import CHARTS
from ..failure_causes import causes_of
from ..finding import Finding, Severity
from ..findings import FINDERS
from ..findings.failed import OF_CAUSES
from ..model import Report, Row
from ..sentences import alike, failure_sentence, run_facts, skip_reason, verdict
from ..tables.findings_tables import validation
from ..tables.main_table import table_of
from ..tables.verdicts_table import verdicts
from .frame import html_page, svg_figure
from .section import PLACES, BenchmarkSection, section_of
from .series import points_for
from .strip import strips

PLAIN = 400_000  # characters of sections up to which they are not compressed
FEW = 3  # benchmarks whose sections are open from the beginning
OF_SWEEPS = ("sweeps", "heat_maps")
OF_BENCHMARKS = ("communication", "links")  # the ledger has a place of its own
LEFT_OUT = ("weight",)  # of the columns of the main table
FIRST_SHOWN = ("perf", "unit")  # of them, right of the name
SPARK_WIDTH, SPARK_HEIGHT, SPARK_POINTS = 96, 20, 32

TOGETHER = 10  # sections that are compressed together: one is much like the next
END = "\x1e"  # no text of the page has such a character: see ``render.html.text``


def report_html(report: Report) -> str:
    anchors = anchors_of([row.name for row in report.rows])
    points = points_for(len(report.rows))
    charts = grouped(
        (chart.subject, chart) for kind in OF_BENCHMARKS for chart in CHARTS[kind](report)
    )
    sections = [
        section_of(report, row, anchors[row.name], points, charts.get(row.name, ()))
        for row in report.rows
    ]
    is_packed = sum(len(section.body) for section in sections) > PLAIN
    starts = range(0, len(sections), TOGETHER)
    packs = [packed(sections[k : k + TOGETHER], with_bodies=is_packed) for k in starts]
    figures = []
    for kind in () if report.compat else OF_SWEEPS:
        figures += [svg_figure(chart) for chart in CHARTS[kind](report)]
    skipped = grouped((skip_reason(each), each.name) for run in report.runs for each in run.skipped)
    return html_page(
        "report.html", ", ".join(run.name for run in report.runs), report=report, anchors=anchors,
        places=PLACES, verdict=verdict(report), score=report.score.told, run_facts=run_facts,
        findings={severity: _groups(report, severity) for severity in Severity}, of_all=_of_all,
        causes=causes_of(report), cause_sentence=cause_sentence, checks=list(checked(report)),
        strips=list(strips(report, anchors)), sections=sections, is_packed=is_packed, few=FEW,
        together=TOGETHER, packs=packs, sweep_figures=figures, failure_sentence=failure_sentence,
        skipped=skipped, validation=html_table(validation(report)), nodes=_nodes(report),
        **_overview(report),
    )  # fmt: skip


def _nodes(report: Report) -> Markup:
    table = replace(verdicts(report), title="")
    return html_table(table, left_out=(), label="nodes") if table else Markup("")


def _groups(report: Report, severity: Severity) -> list[list[Finding]]:
    return [group for group in alike(report, severity) if group[0].name not in OF_CAUSES]


def _of_all(group: Sequence[Finding]) -> str:
    finder = FINDERS.get(group[0].name)
    first, *others = told_together(group)
    is_of_all = len(group) > 1 and not others and finder is not None and finder.many
    return first if is_of_all else ""


def packed(sections: Sequence[BenchmarkSection], *, with_bodies: bool) -> str:
    """Sections as text that no markup can be in: base64 of what zlib makes of them.

    There are the bodies, then the courses, with ``END`` between them.
    """
    bodies = [section.body if with_bodies else "" for section in sections]
    parts = [*bodies, *(section.courses for section in sections)]
    return base64.b64encode(zlib.compress(END.join(parts).encode(), 9)).decode()


def _overview(report: Report) -> dict[str, object]:
    table = without_unknown(table_of(report))
    names = table.names
    others = [name for name in names[1:] if name not in (*FIRST_SHOWN, *LEFT_OUT)]
    before = [names.index(name) for name in FIRST_SHOWN if name in names]
    after = [names.index(name) for name in others]

    def cells(values: Sequence[object], places: Sequence[int]) -> Markup:
        return Markup("".join(cell(table.columns[k], values[k]) for k in places))

    rows = []
    for row, values in zip(report.rows, table.rows, strict=True):
        rows.append({
            "name": row.name, "findings": report.findings_of(row), "spark": spark(row),
            "half": row.half_width, "before": cells(values, before),
            "after": cells(values, after),
        })  # fmt: skip
    titles = [
        table.columns[0],
        *(table.columns[k] for k in before),
        Column("over time"),
        Column("± of 5 %"),
        Column("findings"),
        *(table.columns[k] for k in after),
    ]
    return {"columns": titles, "rows": rows, "table_notes": table.notes}


def spark(row: Row) -> tuple[str, str] | None:
    """The rate over time of the first process that measured: a path of a few points, in words."""
    process = next((each for each in row.processes if len(each.measured)), None)
    if process is None or math.isnan(row.perf):
        return None
    rates = process.measured.lines.rate
    size = -(-len(rates) // SPARK_POINTS)
    means = [float(rates[k : k + size].mean()) for k in range(0, len(rates), size)]
    top = max(means)
    if len(means) < 2 or not top > 0:
        return None
    step = SPARK_WIDTH / (len(means) - 1)
    places = []
    for k, value in enumerate(means):
        places.append(f"{k * step:.0f} {1 + (SPARK_HEIGHT - 2) * (1 - value / top):.0f}")
    return f"M{'L'.join(places)}", f"from {means[0]:,.4g} to {means[-1]:,.4g} {row.unit}"
