"""The chart of a comparison: the ratio of each benchmark with its interval."""

from ..charts.catalogue import ratio_chart
from ..charts.chart import Chart
from ..statistics.values import NAN
from .comparison_model import Comparison


def comparison_chart(comparison: Comparison) -> Chart:
    found = []
    for each in comparison.benchmarks:
        ratio = NAN if each.ratio is None else each.ratio
        found.append((each.name, ratio, *(each.interval or (NAN, NAN)), str(each.verdict)))
    title = f"{comparison.after.given} over {comparison.before.given}"
    return ratio_chart(found, title, comparison.within)
