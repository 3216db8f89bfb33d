import math
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.statistics import values as statistics

MIXED = [4.0, None, 1, nan, "7", True, inf, 1e200, 2.0]
"""Of these, 4, 1 and 2 can be calculated with."""


def test_only_known_values_are_calculated_with() -> None:
    assert statistics.known(MIXED) == [4.0, 1.0, 2.0]
    assert statistics.mean(MIXED) == pytest.approx(7 / 3)
    assert statistics.median(MIXED) == 2.0
    assert statistics.largest(MIXED) == 4.0
    assert statistics.deviation([2.0, None, 4.0]) == 1.0  # of 2: the root of (1 + 1) / 2


@pytest.mark.parametrize("name", ["mean", "median", "largest", "deviation"])
def test_of_nothing_there_is_nan(name: str) -> None:
    assert math.isnan(getattr(statistics, name)([None, nan]))


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(3.0, 2.0, 1.5), (1.0, 0.0, inf), (-1.0, 0.0, -inf), (0.0, 0.0, nan), (nan, 0.0, nan)],
)
def test_a_ratio_is_that_of_numpy(part: float, whole: float, expected: float) -> None:
    assert statistics.ratio(part, whole) == pytest.approx(expected, nan_ok=True)
    with np.errstate(all="ignore"):
        assert np.float64(part) / np.float64(whole) == pytest.approx(expected, nan_ok=True)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(sorted),
    st.floats(0, 1),
)
def test_a_percentile_is_that_of_numpy(values: list[float], share: float) -> None:
    expected = float(np.percentile(values, 100 * share))
    assert statistics.percentile(values, share) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_percentiles_between_two_values() -> None:
    assert statistics.percentile([10.0, 20.0], 0.25) == 12.5
    assert statistics.percentile([1.0, 2.0, 9.0], 1.0) == 9.0
    assert math.isnan(statistics.percentile([], 0.5))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 9)), min_size=1, max_size=60))
def test_extremes(pairs: list[tuple[float, int]]) -> None:
    values, places = (np.array(column) for column in zip(*pairs, strict=True))
    found = statistics.extremes(values, places, 10)
    for place in range(10):
        own = [value for value, at in pairs if at == place]
        expected = [min(own), np.median(own), max(own)] if own else [math.nan] * 3
        assert [column[place] for column in found] == pytest.approx(expected, nan_ok=True)


def test_what_neighbours_differ_by_does_not_depend_on_the_level() -> None:
    noise = np.random.default_rng(0).normal(0.0, 2.0, 4000)
    moving = noise + np.linspace(0.0, 100.0, len(noise))
    assert statistics.neighbours_std(noise) == pytest.approx(2.0, rel=0.05)
    assert statistics.neighbours_std(moving) == pytest.approx(2.0, rel=0.05)
