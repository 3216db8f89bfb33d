"""A comparison as a page for a browser: the verdicts, what differs, the ratios as a chart."""

from collections.abc import Mapping, Sequence
from itertools import islice

from ...render.html import html_table
from ...table import Table
from ..page.frame import WIDE, sections_page, svg_figure
from .comparison_model import Comparison
from .rate_charts import rate_charts
from .ratio_chart import comparison_chart
from .sides import Side
from .verdicts import RatioVerdict

SIGNS: Mapping[RatioVerdict, str] = {  # each with the class of its colour
    RatioVerdict.SLOWER: "▼ error",
    RatioVerdict.FASTER: "▲ good",
    RatioVerdict.SAME: "= quiet",
}
OTHER = "? warning"
MOST_CHARTS = 32  # of rates over time


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
