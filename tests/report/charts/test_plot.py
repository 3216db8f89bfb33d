import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.charts.axes import Axis, Span
from milabench_ddp.report.charts.plot import Bar, Bars, ChartPoint, Curve, Plot
from milabench_ddp.report.charts.scale import (
    doublings,
    linear,
    log_if_wide,
    logarithmic,
    zero_based,
)
from milabench_ddp.report.charts.theme import AREAS, SERIES
from tests.support.svg import check_fits, drawn

NUMBER = st.floats()
FINITE = st.floats(-1e99, 1e99)
POINT = st.builds(ChartPoint, FINITE, FINITE, NUMBER, NUMBER, st.text(max_size=5))
PLACES = st.lists(st.tuples(FINITE, FINITE), max_size=3).map(tuple)
LINE = st.builds(Curve, st.text(max_size=40), st.lists(POINT, max_size=6).map(tuple), PLACES,
                 st.booleans())  # fmt: skip
SCALES = st.sampled_from([linear, zero_based, logarithmic, doublings, log_if_wide])
AXIS = st.builds(Axis, st.text(max_size=60), SCALES)
SHADE = st.builds(Span, st.text(max_size=20), FINITE, FINITE,
                  st.sampled_from(["shade", "unsteady"]))  # fmt: skip
PLOT = st.builds(Plot, AXIS, AXIS, st.lists(LINE, max_size=SERIES).map(tuple),
                 st.lists(SHADE, max_size=2).map(tuple))  # fmt: skip
OF_VALUES = ("line", "band", "whisker", "ideal", "marker")


@settings(max_examples=40)
@given(PLOT, st.floats(320, 1200))
def test_all_that_is_drawn_of_values_is_in_the_frame(plot: Plot, width: float) -> None:
    drawing = plot.draw(width)
    check_fits(drawing, width)
    found = drawn(drawing)
    left, top, right, bottom = found.box()
    assert 0 <= left < right <= width
    for path in found.paths(*OF_VALUES):
        if min(y for _, y in path) > bottom + 10:
            continue  # of the legend
        for x, y in path:
            # a marker is as wide as that around its value, and a whisker has ends
            assert left - 6 <= x <= right + 6
            assert top - 6 <= y <= bottom + 6


def plain(*points: ChartPoint, **more: object) -> Plot:
    line = Curve("a", points, **more)  # type: ignore[arg-type]
    return Plot(Axis("nodes", doublings), Axis("items/s", zero_based), (line,))


def test_a_point_is_where_its_values_are() -> None:
    found = drawn(plain(ChartPoint(1, 0.0), ChartPoint(2, 50.0), ChartPoint(4, 100.0)).draw(640))
    left, top, right, bottom = found.box()
    (path,) = found.paths("line")
    first, middle, last = (x for x, _ in path)
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert middle - first == pytest.approx(last - middle, abs=0.2)
    assert left < first < left + 20
    assert [y for _, y in path] == pytest.approx([bottom, (top + bottom) / 2, top], abs=0.1)


def test_an_interval_is_a_whisker_around_its_point() -> None:
    found = drawn(plain(ChartPoint(1, 60.0, 40.0, 80.0), ChartPoint(2, 100.0)).draw(640))
    left, top, _, bottom = found.box()
    (path,) = found.paths("whisker")
    ys = {round((bottom - y) / (bottom - top) * 100) for _, y in path}
    assert ys == {40, 80}
    assert left < sum(x for x, _ in path) / len(path) < left + 20


def test_an_interval_that_goes_far_beyond_is_cut_off_without_a_cap() -> None:
    found = drawn(plain(ChartPoint(1, 60.0, -500.0, 700.0), ChartPoint(2, 100.0)).draw(640))
    _, top, _, bottom = found.box()
    (path,) = found.paths("whisker")
    assert [y for _, y in path] == [bottom, top]
    assert "200" in found.texts
    assert "-100" not in found.texts


def test_an_interval_that_is_not_known_has_no_whisker() -> None:
    found = drawn(plain(ChartPoint(1, 60.0), ChartPoint(2, 100.0, math.nan, 110.0)).draw(640))
    assert found.paths("whisker") == []


def test_a_single_line_needs_no_legend_and_two_do() -> None:
    points = (ChartPoint(1, 1.0), ChartPoint(2, 2.0))
    one = drawn(plain(*points).draw(640))
    assert "a" not in one.texts
    lines = (Curve("first", points), Curve("second", points))
    two = drawn(Plot(Axis("x"), Axis("y"), lines).draw(640))
    assert two.texts[-2:] == ["first", "second"]


def test_each_line_differs_in_more_than_its_colour() -> None:
    points = (ChartPoint(1, 1.0), ChartPoint(2, 2.0))
    lines = tuple(Curve(str(k), points) for k in range(SERIES))
    found = drawn(Plot(Axis("x"), Axis("y"), lines).draw(640))
    forms = set()
    for path in found.root.iter("path"):
        if "marker" in path.get("class", ""):
            forms.add(path.get("d", "").split("m", 1)[1])
    assert len(forms) == SERIES


def test_a_band_of_many_points_has_no_markers() -> None:
    points = tuple(ChartPoint(x, 5.0, 4.0, 7.0) for x in range(256))
    found = drawn(Plot(Axis("step"), Axis("ms"), (Curve("a", points, is_band=True),)).draw(640))
    assert found.paths("marker") == []
    (band,) = found.paths("band")
    assert len(band) == 2 * 256 + 1


KINDS = st.sampled_from(AREAS)
PARTS = st.lists(st.tuples(KINDS, NUMBER), max_size=4).map(tuple)
BAR = st.builds(Bar, st.text(max_size=60), PARTS, NUMBER, NUMBER, NUMBER, st.integers(0, 7),
                st.text(max_size=60))  # fmt: skip
BARS = st.builds(
    Bars,
    st.builds(Axis, st.text(max_size=60), st.sampled_from([linear, zero_based])),
    st.lists(BAR, max_size=30).map(tuple),
    st.lists(st.tuples(KINDS, st.text(max_size=20)), max_size=4).map(tuple),
    st.lists(st.builds(Span, st.text(max_size=9), FINITE, FINITE), max_size=1).map(tuple),
    NUMBER,
)


@settings(max_examples=40)
@given(BARS, st.floats(320, 1200))
def test_all_that_is_drawn_of_bars_is_in_the_frame(bars: Bars, width: float) -> None:
    drawing = bars.draw(width)
    check_fits(drawing, width)
    found = drawn(drawing)
    left, top, right, bottom = found.box()
    assert 0 <= left < right <= width
    for path in found.paths("whisker", "marker", "area", "ideal", "shade"):
        if min(y for _, y in path) > bottom + 10:
            continue  # of the legend
        for x, y in path:
            assert left - 6 <= x <= right + 6
            assert top - 6 <= y <= bottom + 6


def test_parts_stand_one_behind_another_as_long_as_their_values() -> None:
    bar = Bar("a", (("forward", 30.0), ("waiting", math.nan), ("backward", 70.0)))
    found = drawn(Bars(Axis("ms", zero_based), (bar,)).draw(640))
    left, _, right, _ = found.box()
    ends = []
    for path in found.paths("area"):
        xs = [x for x, _ in path]
        ends.append(((min(xs) - left) / (right - left), (max(xs) - left) / (right - left)))
    assert ends == [pytest.approx((0.0, 0.3), abs=1e-3), pytest.approx((0.3, 1.0), abs=1e-3)]


def test_an_interval_of_a_bar_that_is_not_known_is_not_drawn() -> None:
    found = drawn(Bars(Axis("x"), (Bar("a", mark=1.0, low=0.5), Bar("b"))).draw(640))
    assert found.paths("whisker") == []
    assert len(found.paths("marker")) == 1
    assert {"a", "b"} <= set(found.texts)


def test_names_that_are_too_long_leave_room_for_the_bars() -> None:
    bar = Bar("n" * 200, (("rate", 1.0),), words="w" * 200)
    left, _, right, _ = drawn(Bars(Axis("x", zero_based), (bar,)).draw(640)).box()
    assert right - left > 0.2 * 640
