"""Series over time or over steps, with what the numbers leave out shaded."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...table import Column, Table
from .buckets import Bucket, buckets
from .chart import Chart
from .plot import Axis, Line, Plot, Point, Shade
from .scale import MakeScale, from_zero, linear

if TYPE_CHECKING:
    from ..statistics.values import Floats

Series = Mapping[str, "tuple[Floats, Floats]"]  # places and values of each, by its name


def over_time(
    kind: str,
    benchmark: str,
    title: str,
    axes: tuple[str, str],
    series: Series,
    shades: Sequence[Shade] = (),
    scale: MakeScale = from_zero,
) -> Chart:
    """A chart of series, of which long ones are drawn as the least, the median and the most.

    Args:
        kind: of the chart.
        benchmark: that it is about.
        title: of the chart.
        axes: the names of the horizontal and the vertical axis, with their units.
        series: at most ``theme.SERIES``; their places are ascending, and all numbers are finite.
        shades: parts of the horizontal axis.
        scale: of the vertical axis.
    """
    lines, values, told = [], [], []
    for name, (places, ys) in series.items():
        found = buckets(ys)
        begins, ends = ([float(places[getattr(one, end)]) for one in found]
                        for end in ("first", "last"))  # fmt: skip
        points = []
        for bucket, begin, end in zip(found, begins, ends, strict=True):
            points.append(Point((begin + end) / 2, bucket.median, bucket.least, bucket.most))
            values.append((name, begin, end, bucket.least, bucket.median, bucket.most))
        lines.append(Line(name, tuple(points), is_band=True))
        if found:
            told.append(_range(name, found))
    plot = Plot(Axis(axes[0], linear), Axis(axes[1], scale), tuple(lines), tuple(shades))
    columns = (
        Column("series"),
        *(Column(f"{axes[0]} {end}", ".6g") for end in ("from", "to")),
        *(Column(name, ".4g") for name in ("least", "median", "most")),
    )
    table = Table(columns, tuple(values), f"{title}: {axes[1]}")
    description = f"{axes[1]}, over {axes[0]}. {'; '.join(told) or 'Nothing is known'}."
    return Chart(kind, benchmark, "", title, description, plot.draw, table)


def _range(name: str, found: Sequence[Bucket]) -> str:
    low = min(bucket.least for bucket in found)
    high = max(bucket.most for bucket in found)
    return f"{name}: {low:.4g} to {high:.4g}"
