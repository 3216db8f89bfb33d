"""The section of a benchmark: findings, charts, ranks, ledger, other tables, output, command."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from ...codec import encode_shown
from ...render.html import html_table, render
from ...table import Table, cells_of, without_unknown
from ..charts.catalogue import MOST_BARS, ledger_chart
from ..charts.chart import Chart
from ..finding import Finding
from ..findings import FINDERS
from ..model import Report, Row
from ..sentences import commands_of, failure_sentence
from ..tables import TABLES
from ..tables.ledger_table import HIDDEN, ITEMS, ledger
from ..tables.main_table import main_table
from .courses import courses_of, named_ranks
from .frame import drawings, svg_figure
from .series import MOST_POINTS, course_json

MS = "ms"  # the step: what takes part of its time is shaded by its share of it
SHADED_RANKS = {MS: MS, "p95_ms": MS, "wait_ms": MS, "own_ms": MS, "allocated": "allocated",
                "reserved": "reserved"}  # fmt: skip
SHADED_LEDGER = dict.fromkeys((MS, *ITEMS.values(), HIDDEN), MS)
SHADED_DEVICES = {name: name for name in ("peak_memory", "power W", "SM MHz", "memory MHz")}
FEWEST_DRAWN = 9  # ranks in the chart of a ledger
# Tables that have a place of their own, or whose one row is in the main table and the findings
ELSEWHERE = frozenset({"ranks", "ledger", "steps", "stragglers"})
RANKS, LEDGER, MORE, OUTPUT = "ranks", "ledger", "more", "output"
# The place in a benchmark's section that shows what a finding is about; empty for its top
PLACES = {name: finder.section for name, finder in FINDERS.items()}


class BenchmarkSection(Struct, frozen=True):
    """What the page shows of a benchmark."""

    name: str
    findings: Sequence[Finding]
    body: Markup
    courses: str  # what the page's script draws, as JSON


def section_of(
    report: Report, row: Row, id: str, points: int, charts: Sequence[Chart]
) -> BenchmarkSection:
    """The section of a benchmark; its series have at most so many points."""
    findings = report.findings_of(row)
    failures = [each for each in report.failures if each.benchmark == row.name]
    marked = {name for rank in named_ranks(row, findings) for name in (rank.name, rank.label)}
    drawn = [course_json(course, points) for course in courses_of(row, findings)]
    courses: list[dict[str, Any]] = [course for course in drawn if course is not None]
    values: dict[str, object] = {}
    places = {str(course["axis"] or course["key"]) for course in courses}
    if row.ranks:
        places.add(RANKS)
        ranks = without_unknown(TABLES["ranks"]([row]))
        values["ranks"] = _table(row, "ranks", ranks, SHADED_RANKS, marked)
    if times := ledger([row]):
        places.add(LEDGER)
        most = max(FEWEST_DRAWN, points * MOST_BARS // MOST_POINTS)
        chart = ledger_chart(row, times, most)
        values |= {"ledger": times, "ledger_chart": chart, "ledger_svg": drawings(chart)}
        values["ledger_table"] = _table(row, "ledger", times, SHADED_LEDGER, marked)
    tables = []
    for name, make in TABLES.items():
        if name not in ELSEWHERE and (table := make([row])):
            shown = _table(row, name, table, SHADED_DEVICES, marked)
            tables.append((name, table.title or name, shown))
    places |= {MORE} if tables else set()
    places |= {OUTPUT} if failures else set()
    placed: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        place = PLACES.get(finding.name, "")
        placed[place if place in places else ""].append(finding)
    body = render(
        "section.html", id=id, courses=courses, places=places, findings=placed, tables=tables,
        failures=failures, facts=_facts(row), failure_sentence=failure_sentence,
        figures=[svg_figure(chart) for chart in charts],
        commands=list(commands_of(report, row.name)), **values,
    )  # fmt: skip
    return BenchmarkSection(row.name, findings, body, encode_shown(courses).decode())


def _table(
    row: Row, name: str, table: Table, shaded: Mapping[str, str], marked: Collection[str]
) -> Markup:
    whole = f"milabench report RUN --table {name}"
    label = f"{row.name}: {name.replace('_', ' ')}"
    return html_table(table, shaded=shaded, marked=marked, whole=whole, label=label)


def _facts(row: Row) -> list[tuple[str, object]]:
    names, texts = cells_of(without_unknown(main_table([row])))
    counts = {"launches": row.launches, "observations": row.observations}
    told = [(name, count) for name, count in counts.items() if count]
    return [*zip(names[1:], map(str.strip, texts[1:]), strict=True), *told]
