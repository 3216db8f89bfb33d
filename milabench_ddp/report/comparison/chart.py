"""The chart of a comparison: the ratio of each benchmark with its interval."""

from ..charts.chart import Chart
from ..charts.ratios import Ratio, ratios
from ..statistics.values import NAN
from .model import ComparedBenchmark, Comparison


def comparison_chart(comparison: Comparison) -> Chart:
    """The ratios, beside the range in which a rate counts as the same."""
    title = f"{comparison.after.given} over {comparison.before.given}"
    return ratios(list(map(_ratio, comparison.benchmarks)), title, comparison.within)


def _ratio(each: ComparedBenchmark) -> Ratio:
    low, high = each.interval or (NAN, NAN)
    ratio = NAN if each.ratio is None else each.ratio
    return Ratio(each.name, ratio, low, high, str(each.verdict))
