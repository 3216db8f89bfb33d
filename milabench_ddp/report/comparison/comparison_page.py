"""A comparison as a page for a browser: the verdicts, what differs, the ratios as a chart."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from msgspec.structs import replace

from ...render.html import html_table
from ...table import Table
from ..charts.chart import Chart
from ..course_charts import course_chart
from ..page.courses import measuring, rate_course
from ..page.frame import WIDE, sections_page, svg_figure
from .comparison_model import Comparison
from .ratio_chart import comparison_chart
from .sides import Side
from .verdicts import CHANGES, RatioVerdict

SIGNS: Mapping[RatioVerdict, str] = {  # each with the class of its colour
    RatioVerdict.SLOWER: "▼ error",
    RatioVerdict.FASTER: "▲ good",
    RatioVerdict.SAME: "= quiet",
}
OTHER = "? warning"
MOST_CHARTS = 32  # of rates over time
POINTS = 64  # of a series


def comparison_page(
    comparison: Comparison,
    table: Table,
    head: Sequence[tuple[str, str]],
    sentences: Sequence[str],
    sides: Sequence[Side],
) -> str:
    """The page.

    Args:
        head: both sides and what they differ in, each with its title.
        sides: both, or none to draw no rates over time.
    """
    badges = []
    for verdict, count in comparison.verdicts.items():
        sign, _, kind = SIGNS.get(verdict, OTHER).partition(" ")
        badges.append((f"{sign} {count} {verdict}", kind))
    drawn = rate_charts(comparison, *sides) if sides else ()
    has_ratio = any(each.ratio is not None for each in comparison.benchmarks)
    sections: dict[str, Sequence[str]] = {
        "Ratios": [svg_figure(comparison_chart(comparison), WIDE)] if has_ratio else [],
        "Benchmarks": [html_table(table, left_out=())],
        "What to know": sentences,
        "Rates over time": [svg_figure(chart, WIDE) for chart in islice(drawn, MOST_CHARTS)],
    }
    title = f"{comparison.before.given} → {comparison.after.given}"
    return sections_page(title, badges, head, sections)


def rate_charts(comparison: Comparison, before: Side, after: Side) -> Iterator[Chart]:
    """Rates over time, what changed first; of each side the process with the median rate."""
    with_ratio = [each for each in comparison.benchmarks if each.ratio is not None]
    for each in sorted(with_ratio, key=lambda it: it.verdict not in CHANGES):
        shown = []
        for name, side in (("before", before), ("after", after)):
            if processes := sorted(measuring(side.rows[each.name]), key=attrgetter("rate")):
                shown.append((name, processes[len(processes) // 2]))
        for course in rate_course(shown, each.unit):
            title = f"{each.name}: rate over time"
            axis = f"rate, {course.y}"
            chart = course_chart(replace(course, shaded=()), each.name, title, axis, most=POINTS)
            if chart is not None:
                yield chart
