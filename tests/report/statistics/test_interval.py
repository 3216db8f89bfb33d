import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.statistics.interval import FEWEST, Interval, Series, interval, pooled_mean
from milabench_ddp.report.statistics.steady import Steady, steady_state
from tests.support.rates import approaching, dwelling, falling, noisy, throttled


def series(rates: list[float], seconds: list[float] | None = None) -> Series:
    return Series(tuple(rates), tuple(seconds or [1.0] * len(rates)))


def test_a_mean_is_total_units_over_total_time() -> None:
    assert series([10.0, 40.0], [3.0, 1.0]).mean == pytest.approx((30 + 40) / 4)


def test_of_several_processes_it_is_the_mean_of_their_means() -> None:
    assert pooled_mean([[series([1.0]), series([3.0] * 9)], [series([8.0])]]) == pytest.approx(4.0)


rates_lists = st.lists(st.floats(1, 1000), min_size=1, max_size=3).map(lambda few: 20 * few)


@settings(max_examples=25)
@given(st.lists(st.lists(rates_lists, min_size=1, max_size=3), min_size=1, max_size=3))
def test_it_holds_the_mean_in_any_order(launches: list[list[list[float]]]) -> None:
    groups = [[series(rates) for rates in launch] for launch in launches]
    found = interval(groups)
    if found is None:
        assert len(launches) == 1
        assert min(map(len, launches[0])) < FEWEST
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
    assert 0.8 * textbook < found.sem < 1.5 * textbook
    assert 1.96 < (found.high - found.low) / 2 / found.sem < 2.3  # Student's t


def test_correlated_steps_are_worth_less() -> None:
    rates = noisy(400, 0.8, 7)
    found = interval([[series(rates)]])
    assert found is not None
    textbook = float(np.std(rates, ddof=1)) / 20
    assert 2 * textbook < found.sem < 5 * textbook  # 3 in theory: sqrt(1.8 / 0.2)


def held(
    series_of: Callable[[int], list[float]], truth: float, seeds: range = range(60)
) -> tuple[int, list[Interval]]:
    """How many intervals of the steady states hold the truth, and all of them."""
    found = []
    for seed in seeds:
        rates = series_of(seed)
        steady = steady_state(rates)
        kept = tuple(rates[steady.start :])
        found.append(interval([[Series(kept, (1.0,) * len(kept), steady)]]))
    known = [each for each in found if each]
    return sum(each.low <= truth <= each.high for each in known), known


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("n", [60, 200])
def test_it_holds_the_truth_about_as_often_as_it_says(n: int, correlation: float) -> None:
    hits, _ = held(lambda seed: noisy(n, correlation, seed), 100.0)
    assert hits >= 52


def test_it_holds_the_mean_of_two_levels() -> None:
    hits, _ = held(lambda seed: dwelling(200, seed), 96.0)
    assert hits >= 54


def test_it_reaches_to_the_level_at_the_end() -> None:
    assert held(lambda seed: throttled(60, seed), 90.0)[0] >= 58
    assert held(lambda seed: falling(60, seed, 0.05), 95.0)[0] >= 54
    assert held(lambda seed: falling(60, seed, 0.01), 99.0)[0] >= 54


@pytest.mark.parametrize("time", [0.1, 0.2, 0.3])
def test_it_reaches_to_what_a_start_up_approaches(time: float) -> None:
    assert held(lambda seed: approaching(60, seed, time), 100.0)[0] >= 58
    assert held(lambda seed: approaching(60, seed, time, 0.9), 100.0)[0] >= 58
    assert held(lambda seed: approaching(200, seed, time, 1.05), 100.0)[0] >= 58


def test_pauses_at_equal_distances_do_not_make_it_wide() -> None:
    """Each run has as many: its mean is as sure as without them."""

    def pausing(seed: int) -> list[float]:
        return [
            rate / (3 if k % 20 == seed % 20 else 1)
            for k, rate in enumerate(noisy(1000, 0.0, seed))
        ]

    hits, found = held(pausing, 100 * (1 - 2 / 3 / 20), range(20))
    assert hits >= 18
    assert np.median([each.high - each.low for each in found]) < 0.8  # 4.1 by the bootstrap


def test_few_observations_of_one_launch_have_no_interval() -> None:
    enough = noisy(FEWEST, 0.0, 1)
    assert interval([[series(enough)]]) is not None
    assert interval([[series(enough[1:])]]) is None
    assert interval([[series(enough), series(enough[1:])]]) is None
    after_a_start_up = Series(tuple(enough[20:]), (1.0,) * (FEWEST - 20), Steady(20))
    assert interval([[after_a_start_up]]) is not None


def test_one_observation_has_no_spread() -> None:
    assert interval([[series([5.0])]]) is None
    assert interval([]) is None
    assert interval([[series([5.0])], [series([6.0])]]) is not None


@pytest.mark.parametrize("count", [2, 3, 5])
def test_over_launches_it_holds_the_mean_of_all_launches(count: int) -> None:
    """Steps deviate by 1 %, launches by 2 %."""
    hits = 0
    for seed in range(200):
        draw = random.Random(seed)
        launches = []
        for number in range(count):
            level = draw.gauss(100, 2)
            launches.append([series(noisy(20, 0.0, 100 * seed + number, level))])
        found = interval(launches)
        assert found is not None
        hits += found.low <= 100 <= found.high
    assert 180 <= hits <= 199


def test_launches_that_differ_are_less_sure_than_their_steps() -> None:
    draw = random.Random(5)
    launches = [
        [series([draw.gauss(100 + shift, 0.1) for _ in range(60)])] for shift in (-2, -1, 0, 1, 2)
    ]
    together, within = interval(launches), interval(launches[:1])
    assert together is not None
    assert within is not None
    sem = np.std([-2, -1, 0, 1, 2], ddof=1) / 5**0.5
    assert together.sem == pytest.approx(sem, rel=0.05)
    assert together.high - together.low == pytest.approx(2 * 2.776 * sem, rel=0.05)
    assert within.sem < 0.03


def test_devices_of_one_launch_that_differ_are_as_sure_as_their_steps() -> None:
    draw = random.Random(5)
    launch = [series([draw.gauss(level, 0.1) for _ in range(60)]) for level in (90.0, 110.0)]
    found = interval([launch])
    assert found is not None
    assert found.sem < 0.02


def test_rates_that_are_all_equal_are_certain() -> None:
    found = interval([[series([5.0] * 60)]])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((5.0, 5.0))
    assert found.sem == pytest.approx(0.0, abs=1e-12)


def test_rounding_is_no_error() -> None:
    series = Series((100.0, 100.0 + 2e-14) * 40, (1.0,) * 80)
    found = interval([[series]])
    assert found is not None
    assert (found.sem, found.high - found.low) == (0.0, 0.0)
