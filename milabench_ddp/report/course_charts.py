"""The charts over time of the page, as SVG."""

from collections.abc import Iterator

from .charts.chart import Chart
from .charts.over_time import over_time
from .charts.plot import Shade
from .charts.scale import from_zero, spread_out
from .model import Report
from .page.courses import OWN, RATE, STEPS, UNSTEADY, courses_of
from .page.series import Course

NAMES = {RATE: "rate", STEPS: "time of a step", OWN: "own work"}  # of the values of a course


def course_charts(report: Report) -> Iterator[Chart]:
    """The page's charts over time of each benchmark."""
    for row in report.rows:
        findings = [found for found in report.findings if found.benchmark == row.name]
        for course in courses_of(row, findings):
            if chart := _course(row.name, course):
                yield chart


def _course(benchmark: str, course: Course) -> Chart | None:
    """The chart of a course; None if no value of it is known."""
    import numpy as np

    series = {}
    for curve in course.curves:
        values = np.array([curve.x, curve.y], np.float64)
        values = values[:, np.isfinite(values).all(axis=0)]
        if values.size:
            series[curve.name] = values[0], values[1]
    if not series:
        return None
    shades = []
    for part in course.shaded:
        kind = "unsteady" if part.name == UNSTEADY else "shade"
        shades.append(Shade(part.name, part.begin, part.end, kind))
    title = f"{benchmark}: {course.title[:1].lower()}{course.title[1:]}"
    axes = course.x, f"{NAMES.get(course.key, course.title.lower())}, {course.y}"
    # a pause takes many times as long as a step
    scale = spread_out if course.key in (STEPS, OWN) else from_zero
    return over_time(course.key, benchmark, title, axes, series, shades, scale)
