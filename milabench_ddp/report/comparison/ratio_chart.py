"""The chart of a comparison: the ratio of each benchmark with its interval."""

from collections import Counter
from collections.abc import Mapping

from ...errors import counts_text
from ...results.records import is_finite
from ...table import Column, Table
from ..charts.axes import Axis, Span
from ..charts.chart import Chart
from ..charts.plot import Bar, Bars
from ..statistics.values import NAN, known
from .comparison_model import Comparison

VERDICT_MARKERS: Mapping[str, int] = {"same": 0, "slower": 6, "faster": 2, "cannot tell": 3}
OTHER_MARKER = 5
FARTHEST = 4.0  # times the farthest ratio: beyond, an interval is cut off at the frame
LEAST_RANGE = 0.02  # of the ratios that the axis shows, to both sides of 1
COLUMNS = (
    Column("benchmark"),
    Column("ratio", ".3f"),
    Column("low", ".3f"),
    Column("high", ".3f"),
    Column("verdict"),
)


def comparison_chart(comparison: Comparison) -> Chart:
    within, benchmarks = comparison.within, comparison.benchmarks
    far = [abs(ratio - 1) for ratio in known(each.ratio for each in benchmarks)]
    most = FARTHEST * max([LEAST_RANGE, within, *far])
    bars, rows = [], []
    for each in benchmarks:
        ratio = NAN if each.ratio is None else each.ratio
        low, high = each.interval or (NAN, NAN)
        words = f"{ratio:.3f} {each.verdict}" if is_finite(ratio) else each.verdict
        marker = VERDICT_MARKERS.get(each.verdict, OTHER_MARKER)
        bars.append(
            Bar(each.name, (), max(low, 1 - most), min(high, 1 + most), ratio, marker, words)
        )
        rows.append((each.name, ratio, low, high, str(each.verdict)))
    span = Span("the same, if its interval is in here", 1 - within, 1 + within)
    drawn = Bars(Axis("ratio of the rates (above 1: faster)"), bars, spans=[span], line=1.0)
    title = f"{comparison.after.given} over {comparison.before.given}"
    told = counts_text(Counter(each.verdict for each in benchmarks)) or "None"
    what = "Each benchmark's ratio with its 95 % interval, beside a line at 1."
    table = Table(COLUMNS, tuple(rows), title)
    return Chart("ratios", "", "", title, f"{what} {told}.", drawn.draw, table)
