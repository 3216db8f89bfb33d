"""The charts that are drawn as SVG: of sweeps, and of single benchmarks; each with its numbers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..charts.catalogue import CHARTS
from ..charts.chart import WIDTH, Chart
from ..model import Report
from .html_table import html_table
from .markup import Html, tag

WIDE = 900.0  # of a chart that has the page for itself
OF_SWEEPS = ("sweeps", "heat_maps")
OF_BENCHMARKS = ("communication", "links")  # the ledger has a place of its own


def svg_figure(chart: Chart, width: float = WIDTH) -> Html:
    """A chart with its title, and the numbers behind it as a table."""
    id = f"{chart.id}-name"
    numbers = html_table(chart.table, left_out=())
    details = tag("details", tag("summary", "Show the numbers"), numbers, class_="numbers")
    caption = tag("figcaption", chart.title, id=id)
    return tag("figure", caption, svg(chart, width), details, role="figure", aria_labelledby=id)


def svg(chart: Chart, width: float) -> Html:
    return Html(chart.svg(width))


def sweep_figures(report: Report) -> Html:
    """The charts of the report's sweeps; nothing without any."""
    if report.compat:
        return Html("")
    figures = [svg_figure(chart) for kind in OF_SWEEPS for chart in CHARTS[kind](report)]
    return tag("div", *figures, class_="panels") if figures else Html("")


def charts_by_benchmark(report: Report) -> Mapping[str, Sequence[Chart]]:
    """The charts that are about a single benchmark, by its name."""
    found: dict[str, list[Chart]] = defaultdict(list)
    for kind in OF_BENCHMARKS:
        for chart in CHARTS[kind](report):
            found[chart.subject].append(chart)
    return found
