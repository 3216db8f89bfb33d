import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.charts.scale import (
    TINY,
    MakeScale,
    auto_scale,
    doublings,
    linear,
    log_if_wide,
    logarithmic,
    short,
    zero_based,
)
from milabench_ddp.report.statistics.values import known

ANY = st.none() | st.floats() | st.integers(-(10**30), 10**30) | st.booleans()
SCALES = st.sampled_from([linear, zero_based, logarithmic, doublings, log_if_wide, auto_scale])


@given(SCALES, st.lists(ANY))
def test_ticks_rise_and_hold_all_known_values(make: MakeScale, values: list[object]) -> None:
    scale = make(values)
    assert 2 <= len(scale.ticks) <= 14
    assert all(a < b for a, b in pairwise(scale.ticks))
    assert all(map(math.isfinite, scale.ticks))
    assert len(scale.texts) == len(set(scale.texts)) == len(scale.ticks)
    for value in known(values):
        if value > TINY or make in (linear, auto_scale):
            near = 1e-9 * max(abs(scale.ticks[0]), abs(scale.ticks[-1]), abs(value))
            assert scale.ticks[0] - near <= value <= scale.ticks[-1] + near


@given(SCALES, st.lists(ANY), st.lists(st.floats(allow_nan=False), min_size=2))
def test_places_are_in_the_order_of_the_values_and_inside(
    make: MakeScale, values: list[object], asked: list[float]
) -> None:
    scale = make(values)
    places = [scale.share(value) for value in sorted(asked)]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)
    assert scale.share(scale.ticks[0]) == 0
    assert scale.share(scale.ticks[-1]) == 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_lengths_begin_at_zero(values: list[float]) -> None:
    assert 0.0 in zero_based(values).ticks


@pytest.mark.parametrize(
    ("make", "values", "texts"),
    [
        (linear, [3.1, 9.7], "2 4 6 8 10"),
        (linear, [0.93, 0.99], "0.93 0.94 0.95 0.96 0.97 0.98 0.99"),
        (linear, [5.0, 5.0], "4.4 4.6 4.8 5.0 5.2 5.4 5.6"),
        (linear, [0.0], "0 0.2 0.4 0.6 0.8 1.0"),
        (zero_based, [748.2], "0 200 400 600 800"),
        (zero_based, [402_000.0], "0 100k 200k 300k 400k 500k"),
        (zero_based, [1.2e12], "0 0.2T 0.4T 0.6T 0.8T 1.0T 1.2T"),
        (zero_based, [], "0 0.2 0.4 0.6 0.8 1.0"),
        (doublings, [1, 8], "1 2 4 8"),
        (doublings, [3, 24], "2 4 8 16 32"),
        (doublings, [4], "4 8"),
        (doublings, [1, 2.0**20], "1 4 16 64 256 1024 4096 16384 65536 262144 1048576"),
        (logarithmic, [30.0, 400.0], "20 50 100 200 500"),
        (logarithmic, [1e-3, 2e5], "0.001 0.1 10 1,000 100k 10M"),
        (logarithmic, [7.0], "5 10"),
        (log_if_wide, [100.0, 700.0], "0 200 400 600 800"),
        (log_if_wide, [100.0, 7000.0], "100 200 500 1,000 2,000 5,000 10k"),
        (auto_scale, [277.0, 279.0], "250 260 270 280 290 300 310"),
        (auto_scale, [10.0, 500.0], "10 20 50 100 200 500"),
        (auto_scale, [30.0, 90.0], "30 40 50 60 70 80 90"),
        (log_if_wide, [0.0, 7000.0], "0 2,000 4,000 6,000 8,000"),
    ],
)  # fmt: skip
def test_ticks_are_round(make: MakeScale, values: list[float], texts: str) -> None:
    assert " ".join(make(values).texts) == texts


def test_each_doubling_is_as_far() -> None:
    scale = doublings([1, 16])
    assert [scale.share(count) for count in (1, 2, 4, 8, 16)] == [0, 0.25, 0.5, 0.75, 1]


def test_numbers_are_short() -> None:
    assert [short(v) for v in (0, 0.25, 9999, 12_500, 2e6, 3e20)] == [
        "0", "0.25", "9,999", "12.5k", "2M", "3e+20",
    ]  # fmt: skip
