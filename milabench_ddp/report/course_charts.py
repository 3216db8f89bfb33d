"""The charts over time of the page, as SVG."""

from collections.abc import Iterator

from .charts.catalogue import over_time
from .charts.chart import Chart
from .charts.scale import auto_scale, zero_based
from .model import Report
from .page.courses import DEVICES, OWN, RATE, STEPS, courses_of

NAMES = {RATE: "rate", STEPS: "time of a step", OWN: "own work"}  # of the values of a course
FROM_ZERO = {f"{DEVICES}-{name}" for name in ("load", "memory", "power")}


def course_charts(report: Report) -> Iterator[Chart]:
    """The page's charts over time of each benchmark, of which a value is known."""
    for row in report.rows:
        findings = [found for found in report.findings if found.benchmark == row.name]
        for course in courses_of(row, findings):
            title = course.title
            if not title[1:2].isupper():  # "SM clock" keeps its capitals
                title = title[0].lower() + title[1:]
            axes = course.x, f"{NAMES.get(course.key, title)}, {course.y}"
            series = {curve.name: (curve.x, curve.y) for curve in course.curves}
            scale = zero_based if course.key in FROM_ZERO else auto_scale
            title = f"{row.name}: {title}"
            chart = over_time(course.key, row.name, title, axes, series, course.shaded, scale)
            if chart.table:
                yield chart
