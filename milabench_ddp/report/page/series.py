"""The series behind the charts: reduced to at most 256 points, each a minimum, median and maximum.

A chart of a page is a JSON object that the page's script draws, and of which it makes a table.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ...metric_line import LARGEST
from ..charts.axes import Span
from ..statistics.values import extremes

if TYPE_CHECKING:
    from ...numerics import Floats

MOST_POINTS = 256
FEWEST_POINTS = 48
ALL_POINTS = 12_800  # of a series of each benchmark
PLACE_DIGITS = 6  # of the median place on the x axis
FEWEST_STEPS = 30  # between the least and the largest value of a series


class TimeSeries(Struct, frozen=True):
    """A series of a chart; what is not finite, or absurdly large, is left out."""

    name: str
    x: "Sequence[float] | Floats"  # ascending
    y: "Sequence[float] | Floats"  # shape of ``x``


class Course(Struct, frozen=True):
    """A chart of series over time, or over steps."""

    key: str  # names its place in the section of its benchmark
    title: str
    x: str  # what the axes show, with units
    y: str
    curves: tuple[TimeSeries, ...]
    shaded: tuple[Span, ...] = ()
    digits: int = 4  # of the median of a series
    axis: str = ""  # charts of a section with the same axis share their cursor


Json = dict[str, object]


def points_for(benchmarks: int) -> int:
    """How many points a series has on a page of so many benchmarks, so that it stays small."""
    return max(FEWEST_POINTS, min(MOST_POINTS, ALL_POINTS // max(benchmarks, 1)))


def course_json(course: Course, most: int = MOST_POINTS) -> Json | None:
    """A course as the page's script reads it; None if no value of it is known.

    Args:
        course: the chart.
        most: the number of points that a series may have.
    """
    from ...numerics import np

    known = []
    for curve in course.curves:
        values = np.array([curve.x, curve.y], np.float64)
        values = values[:, (np.abs(values) < LARGEST).all(axis=0)]  # false for NaN, too
        values[np.abs(values) < 1 / LARGEST] = 0.0
        if values.size:
            known.append((curve.name, values))
    if not known:
        return None
    points, of_curves = _reduced(known, most, course.digits)
    return {
        "key": course.key,
        "title": course.title,
        "x": {"name": course.x, "at": points},
        "y": course.y,
        "curves": of_curves,
        "shaded": [[part.name, part.begin, part.end] for part in course.shaded],
        "axis": course.axis,
    }


def _reduced(
    curves: "Sequence[tuple[str, Floats]]", most: int, digits: int
) -> tuple[Json, list[Json]]:
    """The common points of the x axis, and of each curve what is at them.

    Args:
        curves: the name of each, and its places and values, shape (2, n).
        most: the number of points.
        digits: of the median of a curve.
    """
    from ...numerics import np

    union = np.unique(np.concatenate([x for _, (x, _) in curves]))
    most = min(max(values.shape[1] for _, values in curves), most)
    if len(union) <= most:
        points, count = _numbers(union, PLACE_DIGITS), len(union)
        places = [np.searchsorted(union, x) for _, (x, _) in curves]
    else:
        begin, width, count = _buckets(union, most)
        points = {"from": begin + width / 2, "by": width, "n": count}
        places = [
            np.clip((x - begin) / width, 0, count - 1).astype(np.int_) for _, (x, _) in curves
        ]
    told: list[Json] = []
    for (name, (_, y)), place in zip(curves, places, strict=True):
        low, middle, high = extremes(y, place, count)
        of_curve: Json = {"name": name, "n": len(y), "mid": _numbers(middle, digits)}
        if (high > low).any():
            of_curve |= {"low": _numbers(low, digits), "high": _numbers(high, digits)}
        told.append(of_curve)
    return points, told


def _buckets(x: "Floats", most: int) -> tuple[float, float, int]:
    """Equal parts of the x axis: the begin of the first, their width, and their number.

    Where the places are numbers of steps, all parts have as many of them.
    """
    low, high = float(x[0]), float(x[-1])
    if not (x == x.round()).all():
        return low, (high - low) / most, most
    steps = high - low + 1
    width = math.ceil(steps / most)
    return low - 0.5, float(width), math.ceil(steps / width)


def _numbers(values: "Floats", digits: int) -> Json:
    """Numbers as whole multiples of a power of ten above the least; None where one is unknown.

    They keep so many digits of their median, and all before the point.
    """
    from ...numerics import np

    known = values[np.isfinite(values)]
    sizes = np.abs(known)
    level = float(np.median(sizes) or sizes.max())
    power = math.floor(math.log10(level)) + 1 - digits if level > 0 else 0
    if float(known.max() - known.min()) < FEWEST_STEPS * 10.0**power:  # alike: keep what differs
        power -= 1
    scaled = np.round(values / 10.0**power)
    least = float(np.nanmin(scaled))
    whole = [None if math.isnan(one) else int(one - least) for one in scaled.tolist()]
    return {"power": power, "least": int(least), "v": whole}
