"""The charts over time of the page, as SVG."""

from collections.abc import Iterator

from .charts.chart import Chart
from .charts.over_time import over_time
from .charts.plot import Shade
from .charts.scale import around, from_zero
from .model import Report
from .page.courses import DEVICES, OWN, RATE, STEPS, UNSTEADY, courses_of
from .page.series import Course

NAMES = {RATE: "rate", STEPS: "time of a step", OWN: "own work"}  # of the values of a course
FROM_ZERO = {f"{DEVICES}-{name}" for name in ("load", "memory", "power")}


def course_charts(report: Report) -> Iterator[Chart]:
    """The page's charts over time of each benchmark."""
    for row in report.rows:
        findings = [found for found in report.findings if found.benchmark == row.name]
        for course in courses_of(row, findings):
            if chart := _course(row.name, course):
                yield chart


def _course(benchmark: str, course: Course) -> Chart | None:
    """The chart of a course; None if no value of it is known."""
    from ..numerics import np

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
    # "SM clock" keeps its capitals
    name = (
        course.title if course.title[1:2].isupper() else course.title[:1].lower() + course.title[1:]
    )
    axes = course.x, f"{NAMES.get(course.key, name)}, {course.y}"
    scale = from_zero if course.key in FROM_ZERO else around
    return over_time(course.key, benchmark, f"{benchmark}: {name}", axes, series, shades, scale)
