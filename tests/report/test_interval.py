import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.interval import Series, block_length, interval, pooled_mean
from tests.support.rates import noisy


def series(rates: list[float], seconds: list[float] | None = None) -> Series:
    return Series(tuple(rates), tuple(seconds or [1.0] * len(rates)))


def test_a_mean_is_total_units_over_total_time() -> None:
    assert series([10.0, 40.0], [3.0, 1.0]).mean == pytest.approx((30 + 40) / 4)


def test_of_several_processes_it_is_the_mean_of_their_means() -> None:
    assert pooled_mean([[series([1.0]), series([3.0] * 9)], [series([8.0])]]) == pytest.approx(4.0)


rates_lists = st.lists(st.floats(1, 1000), min_size=1, max_size=30)


@settings(max_examples=25)
@given(st.lists(st.lists(rates_lists, min_size=1, max_size=3), min_size=1, max_size=3))
def test_it_holds_the_mean_in_any_order(launches: list[list[list[float]]]) -> None:
    groups = [[series(rates) for rates in launch] for launch in launches]
    found = interval(groups)
    if found is None:
        assert sum(len(rates) for launch in launches for rates in launch) == 1
        return
    assert found.low <= pooled_mean(groups) <= found.high
    assert found.sem >= 0
    shuffled = [launch[::-1] for launch in groups[::-1]]
    assert interval(shuffled) == found


def test_of_independent_steps_it_is_the_textbooks() -> None:
    rates = noisy(400, 0.0, 7)
    found = interval([[series(rates)]])
    assert found is not None
    textbook = float(np.std(rates, ddof=1)) / 20
    assert found.sem == pytest.approx(textbook, rel=0.2)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.sem, rel=0.1)


def test_correlated_steps_are_worth_less() -> None:
    rates = noisy(400, 0.8, 7)
    found = interval([[series(rates)]])
    assert found is not None
    textbook = float(np.std(rates, ddof=1)) / 20
    assert 2 * textbook < found.sem < 4 * textbook  # 3 in theory: sqrt(1.8 / 0.2)


def test_it_holds_the_truth_about_as_often_as_it_says() -> None:
    found = [interval([[series(noisy(100, 0.3, seed))]]) for seed in range(60)]
    hits = sum(each.low <= 100 <= each.high for each in found if each)
    assert hits >= 51


def test_launches_that_differ_are_less_sure_than_their_steps() -> None:
    draw = random.Random(5)
    launches = [
        [series([draw.gauss(100 + shift, 0.1) for _ in range(50)])] for shift in (-2, -1, 0, 1, 2)
    ]
    together, within = interval(launches), interval(launches[:1])
    assert together is not None
    assert within is not None
    assert together.sem == pytest.approx(np.std([-2, -1, 0, 1, 2], ddof=1) / 5**0.5, rel=0.15)
    assert within.sem < 0.03


def test_devices_of_one_launch_that_differ_are_as_sure_as_their_steps() -> None:
    draw = random.Random(5)
    launch = [series([draw.gauss(level, 0.1) for _ in range(50)]) for level in (90.0, 110.0)]
    found = interval([launch])
    assert found is not None
    assert found.sem < 0.02


def test_blocks_are_as_long_as_the_correlation() -> None:
    short = [block_length(np.array(noisy(400, 0.0, seed))) for seed in range(5)]
    long = [block_length(np.array(noisy(400, 0.9, seed))) for seed in range(5)]
    assert np.median(short) <= 4
    assert np.median(long) >= 15
    assert block_length(np.full(50, 3.0)) == 1
    assert block_length(np.array([1.0, 2.0])) == 1


def test_rates_that_are_all_equal_are_certain() -> None:
    found = interval([[series([5.0] * 20)]])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((5.0, 5.0))
    assert found.sem == pytest.approx(0.0, abs=1e-12)
