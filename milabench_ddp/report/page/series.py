"""The series of charts over time, reduced to at most 256 points: minima, medians and maxima.

A chart of a page is a JSON object that the page's script draws, and of which it makes a table.
"""

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...metric_line import LARGEST
from ...numerics import Floats, np
from ..charts.axes import Span
from ..statistics.values import extremes

MOST_POINTS = 256
FEWEST_POINTS = 48
ALL_POINTS = 12_800  # of a series of each benchmark
PLACE_DIGITS = 6  # of the median place on the x axis
FEWEST_STEPS = 30  # between the least and the largest value of a series


class TimeSeries(Struct, frozen=True):
    """A series of a chart; what is not finite, or absurdly large, is left out."""

    name: str
    x: Sequence[float] | Floats  # ascending
    y: Sequence[float] | Floats  # shape of ``x``


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


class ReducedCurve(Struct, frozen=True):
    """A series at the points of its chart, NaN where none of its values is."""

    name: str
    count: int  # of its values
    low: Floats
    middle: Floats
    high: Floats


class ReducedCourse(Struct, frozen=True):
    """The points of a chart, which are places of the x axis or equal parts of it."""

    begins: Floats
    ends: Floats
    width: float  # from one part to the next; 0 if they are places
    curves: Sequence[ReducedCurve]  # those with a known value


Json = dict[str, Any]


def points_for(benchmarks: int) -> int:
    return max(FEWEST_POINTS, min(MOST_POINTS, ALL_POINTS // max(benchmarks, 1)))


def reduced(course: Course, most: int = MOST_POINTS) -> ReducedCourse | None:
    """A chart with no more points than ``most``; None if no value of it is known.

    Where the places are numbers of steps, all parts have as many of them.
    """
    known = []
    for curve in course.curves:
        values = np.array([curve.x, curve.y], np.float64)
        values = values[:, (np.abs(values) < LARGEST).all(axis=0)]  # false for NaN, too
        values[np.abs(values) < 1 / LARGEST] = 0.0
        if values.size:
            known.append((curve.name, *values))
    if not known:
        return None
    begins = ends = np.unique(np.concatenate([x for _, x, _ in known]))
    most = min(max(len(x) for _, x, _ in known), most)
    width = 0.0
    if len(begins) > most:
        low, high = float(begins[0]), float(begins[-1])
        if (begins == begins.round()).all():
            gap = 1.0
            width = float(math.ceil((high - low + gap) / most))
            most = math.ceil((high - low + gap) / width)
        else:
            gap = 0.0
            width = (high - low) / most
        begins = low + width * np.arange(most)
        ends = begins + (width - gap)
    curves = []
    for name, x, y in known:
        places = np.searchsorted(begins, x, "right") - 1
        curves.append(ReducedCurve(name, len(y), *extremes(y, places, len(begins))))
    return ReducedCourse(begins, ends, width, curves)


def course_json(course: Course, most: int = MOST_POINTS) -> Json | None:
    found = reduced(course, most)
    if found is None:
        return None
    points = _numbers(found.begins, PLACE_DIGITS)
    if found.width:
        points = {
            "from": float(found.begins[0] + found.ends[0]) / 2,
            "by": found.width,
            "n": len(found.begins),
        }
    curves = []
    for curve in found.curves:
        told = {"name": curve.name, "n": curve.count, "mid": _numbers(curve.middle, course.digits)}
        if (curve.high > curve.low).any():
            told["low"] = _numbers(curve.low, course.digits)
            told["high"] = _numbers(curve.high, course.digits)
        curves.append(told)
    return {
        "key": course.key,
        "title": course.title,
        "x": {"name": course.x, "at": points},
        "y": course.y,
        "curves": curves,
        "shaded": [[part.name, part.begin, part.end] for part in course.shaded],
        "axis": course.axis,
    }


def _numbers(values: Floats, digits: int) -> Json:
    """Numbers as whole multiples of a power of ten above the least; None where one is unknown.

    They keep so many digits of their median, and all before the point.
    """
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
