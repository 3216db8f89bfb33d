import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.charts.bars import Bar, Bars
from milabench_ddp.report.charts.plot import Axis, Shade
from milabench_ddp.report.charts.scale import from_zero, linear
from milabench_ddp.report.charts.theme import TEXTURES
from tests.support.svg import check_fits, drawn

NUMBER = st.floats()
KINDS = st.sampled_from(sorted(TEXTURES))
PARTS = st.lists(st.tuples(KINDS, NUMBER), max_size=4).map(tuple)
BAR = st.builds(Bar, st.text(max_size=60), PARTS, NUMBER, NUMBER, NUMBER, st.integers(0, 7),
                st.text(max_size=60))  # fmt: skip
BARS = st.builds(
    Bars,
    st.builds(Axis, st.text(max_size=60), st.sampled_from([linear, from_zero])),
    st.lists(BAR, max_size=30).map(tuple),
    st.lists(st.tuples(KINDS, st.text(max_size=20)), max_size=4).map(tuple),
    st.lists(st.builds(Shade, st.text(max_size=9), NUMBER, NUMBER), max_size=1).map(tuple),
    NUMBER,
)


@settings(max_examples=40)
@given(BARS, st.floats(320, 1200))
def test_all_that_is_drawn_of_values_is_in_the_frame(bars: Bars, width: float) -> None:
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
    found = drawn(Bars(Axis("ms", from_zero), (bar,)).draw(640))
    left, _, right, _ = found.box()
    ends = []
    for path in found.paths("area"):
        xs = [x for x, _ in path]
        ends.append(((min(xs) - left) / (right - left), (max(xs) - left) / (right - left)))
    assert ends == [pytest.approx((0.0, 0.3), abs=1e-3), pytest.approx((0.3, 1.0), abs=1e-3)]


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    found = drawn(Bars(Axis("x"), (Bar("a", mark=1.0, low=0.5), Bar("b"))).draw(640))
    assert found.paths("whisker") == []
    assert len(found.paths("marker")) == 1
    assert {"a", "b"} <= set(found.texts)


def test_names_that_are_too_long_leave_room_for_the_bars() -> None:
    bar = Bar("n" * 200, (("rate", 1.0),), words="w" * 200)
    left, _, right, _ = drawn(Bars(Axis("x", from_zero), (bar,)).draw(640)).box()
    assert right - left > 0.2 * 640
