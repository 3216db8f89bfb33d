"""The charts over time of the page, as SVG."""

from collections.abc import Iterator

from ..table import Column, Table
from .charts.axes import Axis
from .charts.chart import Chart
from .charts.plot import ChartPoint, Curve, Plot
from .charts.scale import MakeScale, auto_scale, zero_based
from .model import Report
from .page.courses import DEVICES, OWN, RATE, STEPS, courses_of
from .page.series import MOST_POINTS, Course, reduced

NAMES = {RATE: "rate", STEPS: "time of a step", OWN: "own work"}  # of the values of a course
FROM_ZERO = {f"{DEVICES}-{name}" for name in ("load", "memory", "power")}


def course_charts(report: Report) -> Iterator[Chart]:
    for row in report.rows:
        for course in courses_of(row, report.findings_of(row)):
            title = course.title
            if not title[1:2].isupper():  # "SM clock" keeps its capitals
                title = title[0].lower() + title[1:]
            axis = f"{NAMES.get(course.key, title)}, {course.y}"
            scale = zero_based if course.key in FROM_ZERO else auto_scale
            chart = course_chart(course, row.name, f"{row.name}: {title}", axis, scale)
            if chart is not None:
                yield chart


def course_chart(
    course: Course,
    benchmark: str,
    title: str,
    y: str,
    scale: MakeScale = auto_scale,
    most: int = MOST_POINTS,
) -> Chart | None:
    """A chart of at most ``theme.SERIES`` series; long ones are bands from minimum to maximum.

    It is None if no value is known.
    """
    found = reduced(course, most)
    if found is None:
        return None
    curves, values, told = [], [], []
    for curve in found.curves:
        points = []
        parts = found.begins, found.ends, curve.low, curve.middle, curve.high
        for begin, end, low, middle, high in zip(*(part.tolist() for part in parts), strict=True):
            if middle == middle:
                points.append(ChartPoint((begin + end) / 2, middle, low, high))
                values.append((curve.name, begin, end, low, middle, high))
        curves.append(Curve(curve.name, points, is_band=True))
        low, high = min(point.low for point in points), max(point.high for point in points)
        told.append(f"{curve.name}: {low:.4g} to {high:.4g}")
    plot = Plot(Axis(course.x), Axis(y, scale), curves, course.shaded)
    columns = (
        Column("series"),
        *(Column(f"{course.x} {end}", ".6g") for end in ("from", "to")),
        *(Column(name, ".4g") for name in ("least", "median", "most")),
    )
    table = Table(columns, tuple(values), f"{title}: {y}")
    description = f"{y}, over {course.x}. {'; '.join(told)}."
    return Chart(course.key, benchmark, "", title, description, plot.draw, table)
