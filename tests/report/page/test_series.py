import json
import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.charts.axes import Span
from milabench_ddp.report.page.series import (
    FEWEST_POINTS,
    MOST_POINTS,
    Course,
    TimeSeries,
    course_json,
    points_for,
)


def course(*curves: TimeSeries) -> Course:
    return Course("rate", "Rate", "time (s)", "items/s", curves, (Span("warm-up", 0.0, 2.0),))


def decoded(numbers: Any) -> list[float | None]:
    """What the page's script makes of numbers."""
    power, least = numbers["power"], numbers["least"]
    return [None if v is None else (v + least) * 10.0**power for v in numbers["v"]]


def test_few_values_are_kept_as_they_are() -> None:
    x = [0.0, 0.05, 0.1, 700.0]
    made: Any = course_json(course(TimeSeries("a", x, [326.1, 326.2, math.nan, 1e4])))
    assert decoded(made["x"]["at"]) == pytest.approx([0.0, 0.05, 700.0])
    (curve,) = made["curves"]
    assert decoded(curve["mid"]) == pytest.approx([326.1, 326.2, 1e4])
    assert "low" not in curve
    assert made["shaded"] == [["warm-up", 0.0, 2.0]]


@pytest.mark.parametrize("level", [1e-6, 0.93, 326.0, 4.02e5, 9e12])
def test_values_keep_four_digits(level: float) -> None:
    values = [level * (1 + 0.01 * math.sin(k)) for k in range(100)]
    made: Any = course_json(course(TimeSeries("a", range(100), values)))
    assert decoded(made["curves"][0]["mid"]) == pytest.approx(values, rel=1e-3)


def test_many_values_are_minimum_median_and_maximum() -> None:
    """One pause in 10,000 steps is still seen, in its place."""
    y = np.full(10_000, 100.0)
    y[7_777] = 900.0
    y[:2] = 50.0
    made: Any = course_json(course(TimeSeries("a", np.arange(10_000.0), y)))
    (curve,) = made["curves"]
    low, mid, high = (decoded(curve[name]) for name in ("low", "mid", "high"))
    assert made["x"]["at"] == {"from": 19.5, "by": 40.0, "n": 250}  # 0 to 39, 40 to 79, ...
    assert (len(mid), curve["n"]) == (250, 10_000)
    place = 7_777 // 40
    assert high[place] == pytest.approx(900.0)
    assert [value for value in high if value is not None and value > 100] == [high[place]]
    assert low[0] == pytest.approx(50.0)
    assert set(mid) == {100.0}


def test_parts_of_time_have_equal_widths() -> None:
    times = [0.25 * k for k in range(1000)]
    made: Any = course_json(course(TimeSeries("a", times, times)))
    assert made["x"]["at"]["n"] == MOST_POINTS
    assert made["x"]["at"]["by"] == pytest.approx(times[-1] / MOST_POINTS)
    mid = decoded(made["curves"][0]["mid"])
    assert mid[0] == pytest.approx(0.375, abs=0.3)
    assert mid[-1] == pytest.approx(times[-1], abs=0.6)


def test_curves_share_their_places() -> None:
    """Processes whose lines come at other moments, and one that ended early."""
    ends = [
        TimeSeries("a", [0.0, 1.0, 2.0, 3.0], [1.0] * 4),
        TimeSeries("b", [0.1, 1.1], [5.0, 6.0]),
    ]
    made: Any = course_json(course(*ends))
    first, second = (decoded(curve["mid"]) for curve in made["curves"])
    assert len(first) == len(second) == 4
    assert second == [pytest.approx(5.0), pytest.approx(6.0), None, None]


def test_what_cannot_be_drawn() -> None:
    assert course_json(course(TimeSeries("a", [0.0], [math.inf]), TimeSeries("b", [], []))) is None
    zeros: Any = course_json(course(TimeSeries("a", [0.0, 1.0], [0.0, 0.0])))
    assert decoded(zeros["curves"][0]["mid"]) == [0.0, 0.0]
    mostly: Any = course_json(course(TimeSeries("a", [0.0, 1.0, 2.0], [0.0, 0.0, 98.5])))
    assert decoded(mostly["curves"][0]["mid"]) == pytest.approx([0.0, 0.0, 98.5])


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=20), st.integers(1, 30))
def test_any_values(pairs: list[tuple[float, float]], most: int) -> None:
    """What is kept is right to four digits of the median of what is shown."""
    pairs.sort(key=lambda pair: (math.isnan(pair[0]), pair[0]))
    made: Any = course_json(
        course(TimeSeries("a", [x for x, _ in pairs], [y for _, y in pairs])), most
    )
    kept = [y for x, y in pairs if abs(x) < 1e100 and abs(y) < 1e100]
    if made is None:
        assert kept == []
        return
    json.dumps(made, allow_nan=False)
    (curve,) = made["curves"]
    found = [v for v in decoded(curve.get("high", curve["mid"])) if v is not None]
    error = 1e-3 * statistics.median(map(abs, found)) + 1e-9 * max(map(abs, kept))
    assert max(found) == pytest.approx(max(kept), rel=1e-3, abs=max(error, 1e-99))


def test_a_page_of_many_benchmarks_has_fewer_points() -> None:
    assert [points_for(count) for count in (0, 1, 50, 100, 10**6)] == [
        MOST_POINTS, MOST_POINTS, MOST_POINTS, 128, FEWEST_POINTS,
    ]  # fmt: skip
