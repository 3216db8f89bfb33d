"""Ratios of two measurements with their intervals, a row for each benchmark."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...results.records import is_finite
from ...table import Column, Table
from ..statistics.values import NAN, known
from .bars import Bar, Bars
from .chart import Chart
from .plot import Axis, Shade

MARKERS: Mapping[str, int] = {"same": 0, "slower": 6, "faster": 2, "cannot tell": 3}
OTHER = 5  # the marker of any other verdict
FARTHEST = 4.0  # times the farthest ratio: beyond, an interval is cut off at the frame
LEAST = 0.02  # from 1, that the axis shows


class Ratio(Struct, frozen=True):
    """The ratio of two rates, its 95 % interval, and the verdict; NaN where one is not known."""

    name: str
    ratio: float
    low: float = NAN
    high: float = NAN
    verdict: str = ""


def ratios(
    found: Sequence[Ratio], title: str = "Rates after over before", within: float = NAN
) -> Chart:
    """The chart of a comparison.

    Args:
        found: a ratio for each benchmark.
        title: what is compared.
        within: by how much a rate that is the same may differ, as a fraction; NaN if not known.
    """
    rows = tuple(_bar(each) for each in found)
    far = [abs(value - 1) for value in known(each.ratio for each in found)]
    most = FARTHEST * max([LEAST, *known([within]), *far])
    shades = []
    if is_finite(within):
        shades.append(Shade("the same, if its interval is in here", 1 - within, 1 + within))
    drawn = Bars(
        Axis("ratio of the rates (above 1: faster)"),
        tuple(_cut(row, 1 - most, 1 + most) for row in rows),
        shades=tuple(shades),
        line=1.0,
    )
    columns = ("benchmark", "ratio", "low", "high")
    table = Table(
        (Column(columns[0]), *(Column(name, ".3f") for name in columns[1:]), Column("verdict")),
        tuple((each.name, each.ratio, each.low, each.high, each.verdict) for each in found),
        title,
    )
    return Chart("ratios", "", "", title, _description(found), drawn.draw, table)


def _bar(each: Ratio) -> Bar:
    words = each.verdict
    if is_finite(each.ratio):
        words = f"{each.ratio:.3f} {each.verdict}".rstrip()
    marker = MARKERS.get(each.verdict, OTHER)
    return Bar(each.name, low=each.low, high=each.high, mark=each.ratio, marker=marker, words=words)


def _cut(row: Bar, low: float, high: float) -> Bar:
    """The row with its interval cut off at both ends of the axis."""
    return Bar(
        row.label,
        low=max(row.low, low),
        high=min(row.high, high),
        mark=row.mark,
        marker=row.marker,
        words=row.words,
    )


def _description(found: Sequence[Ratio]) -> str:
    """How many benchmarks have which verdict."""
    counts: dict[str, int] = {}
    for each in found:
        verdict = each.verdict or "without a verdict"
        counts[verdict] = counts.get(verdict, 0) + 1
    told = [f"{count} {verdict}" for verdict, count in counts.items()]
    what = "Each benchmark's ratio with its 95 % interval, beside a line at 1."
    return f"{what} {', '.join(told) or 'None'}."
