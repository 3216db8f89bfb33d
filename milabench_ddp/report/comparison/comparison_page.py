"""A comparison as a page for a browser: the verdicts, what differs, the ratios as a chart."""

from collections.abc import Mapping, Sequence

from ...table import Table
from ..page.figures import WIDE, svg_figure
from ..page.frame import html_page
from ..page.html_table import html_table
from ..page.markup import Html, tag
from .chart import comparison_chart
from .model import Comparison
from .verdicts import RatioVerdict

SIGNS: Mapping[RatioVerdict, str] = {  # each with the class of its colour
    RatioVerdict.SLOWER: "▼ error",
    RatioVerdict.FASTER: "▲ good",
    RatioVerdict.SAME: "= quiet",
}
OTHER = "? warning"


def comparison_page(
    comparison: Comparison,
    table: Table,
    head: Sequence[tuple[str, str]],
    sentences: Sequence[str],
) -> str:
    """The page.

    Args:
        comparison: what ``compare`` found.
        table: a row for each benchmark.
        head: both sides and what they differ in, each with its title.
        sentences: what to know about it.
    """
    title = f"{comparison.before.given} → {comparison.after.given}"
    badges = []
    for verdict, count in comparison.counts.items():
        sign, _, kind = SIGNS.get(verdict, OTHER).partition(" ")
        badges.append(tag("strong", f"{sign} {count} {verdict}", class_=f"badge {kind}"))
    sides = []
    for name, said in head:
        sides += [tag("dt", name), tag("dd", said)]
    has_ratio = any(each.ratio is not None for each in comparison.benchmarks)
    figures = [svg_figure(comparison_chart(comparison), WIDE)] if has_ratio else []
    body = [
        tag("h1", title),
        tag("div", *badges, class_="strip"),
        tag("dl", *sides, class_="run"),
        tag("main", *_section("Ratios", *figures), *_section("Benchmarks", html_table(table)),
            *_section("What to know", tag("ul", *(tag("li", each) for each in sentences)))),
    ]  # fmt: skip
    return html_page(title, body)


def _section(heading: str, *inside: Html) -> list[Html]:
    return [tag("section", tag("h2", heading), *inside)] if inside else []
