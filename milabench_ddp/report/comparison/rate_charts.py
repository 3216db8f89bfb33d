"""The rates of both sides of a comparison over time, each benchmark in one chart."""

from collections.abc import Iterator
from operator import attrgetter

from msgspec.structs import replace

from ..charts.chart import Chart
from ..course_charts import course_chart
from ..page.courses import measuring, rate_course
from .comparison_model import Comparison
from .sides import Side
from .verdicts import RatioVerdict

POINTS = 64  # of a series
CHANGES = (RatioVerdict.SLOWER, RatioVerdict.FASTER)


def rate_charts(comparison: Comparison, before: Side, after: Side) -> Iterator[Chart]:
    """What changed first; of each side the process with the median rate."""
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
