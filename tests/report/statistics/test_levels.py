import numpy as np
import pytest

from milabench_ddp.report.statistics.levels import FEW, visits_if_few
from tests.support.rates import approaching, dwelling, falling, noisy

SEEDS = range(40)


def at_levels(*lengths: int, seed: int = 1, apart: float = 8.0) -> list[float]:
    """Two levels in turn, for these numbers of observations."""
    rates: list[float] = []
    for number, length in enumerate(lengths):
        rates += noisy(length, 0.0, seed + number, 100 - apart * (number % 2))
    return rates


@pytest.mark.parametrize("scale", [1, 3, 16])
def test_visits_to_two_levels_are_counted(scale: int) -> None:
    lengths = [scale * length for length in (20, 5, 15, 20)]
    found = [visits_if_few(np.array(at_levels(*lengths, seed=seed)), 0) for seed in SEEDS]
    assert sum(count == 4 for count in found) >= 38


@pytest.mark.parametrize(
    ("lengths", "visits"),
    [((57, 3), 2), ((28, 3, 29), 3), ((190, 3, 7), 3), ((196, 4), 2), ((400, 12, 588), 3)],
)
@pytest.mark.parametrize("apart", [10.0, -10.0])
def test_a_short_stay_at_a_level_counts_wherever_it_is(
    lengths: tuple[int, ...], visits: int, apart: float
) -> None:
    found = [visits_if_few(np.array(at_levels(*lengths, seed=k, apart=apart)), 0) for k in SEEDS]
    assert sum(count == visits for count in found) >= 36


def test_a_few_slow_steps_are_a_pause() -> None:
    for lengths in ((30, 2, 28), (400, 3, 597)):
        few = [visits_if_few(np.array(at_levels(*lengths, seed=seed)), 0) for seed in SEEDS]
        assert sum(map(bool, few)) <= 3


@pytest.mark.parametrize(("n", "correlation"), [(60, 0.0), (60, 0.5), (200, 0.5), (200, 0.9)])
def test_noise_has_no_levels(n: int, correlation: float) -> None:
    few = [visits_if_few(np.array(noisy(n, correlation, seed)), 0) for seed in SEEDS]
    assert sum(map(bool, few)) <= 2
    assert visits_if_few(np.array([100.0] * n), 0) == 0


def test_pauses_and_falls_are_no_levels() -> None:
    for seed in SEEDS:
        rates = noisy(200, 0.0, seed)
        paused = [rate / (3 if (k + seed) % 20 == 0 else 1) for k, rate in enumerate(rates)]
        assert visits_if_few(np.array(paused), 0) == 0
        assert visits_if_few(np.array(falling(200, seed, 0.05)), 0) == 0


def test_many_visits_are_enough() -> None:
    assert visits_if_few(np.array(at_levels(*[10] * 20)), 0) == 0
    assert visits_if_few(np.array(at_levels(*[40] * (FEW - 1))), 0) == FEW - 1


def test_visits_within_a_supposed_start_up_count() -> None:
    """What is left out shows the two levels, the rest is at one of them."""
    rates = np.array(at_levels(10, 10, 10, 30))
    assert visits_if_few(rates, 30) == 4
    assert visits_if_few(np.array(at_levels(10, 50)), 10) == 0  # a start-up: one change


def test_what_is_left_of_a_start_up_is_no_level() -> None:
    few = [visits_if_few(np.array(approaching(200, seed, 0.05)), 40) for seed in SEEDS]
    assert sum(map(bool, few)) <= 2


def test_few_of_many_series_with_long_dwells_are_silent() -> None:
    few = [visits_if_few(np.array(dwelling(100, seed)[:40]), 0) for seed in SEEDS]  # n / 4
    assert sum(map(bool, few)) >= 28


@pytest.mark.parametrize(("at", "count", "visits"), [(0, 3, 2), (20, 5, 3), (57, 3, 2)])
def test_steps_that_a_coarse_clock_makes_long_and_short_by_turns_have_no_levels(
    at: int, count: int, visits: int
) -> None:
    """Steps of 20 ticks: most of a few neighbours last 21, and the mean of all is near 20."""
    ticks = np.full(60, 20.0)
    ticks[at : at + count] = [21, 19, 21, 19, 21][:count]
    assert visits_if_few(1 / ticks, 0) == 0
    ticks[at : at + count] = 21
    assert visits_if_few(1 / ticks, 0) == visits


@pytest.mark.parametrize("count", [60, 200, 1000])
def test_batches_of_several_lengths_at_random_are_no_levels(count: int) -> None:
    found = 0
    for seed in range(20):
        lengths = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], count)
        found += bool(visits_if_few(100 / lengths, 0))
    assert found <= 1


@pytest.mark.parametrize("far", [1.0, 0.001])
def test_a_visit_is_seen_beside_one_rate_that_is_far_from_all(far: float) -> None:
    rates = 100 + np.random.default_rng(1).normal(0, 0.5, 200)
    rates[60:90] -= 8
    rates[150] *= far
    assert visits_if_few(rates, 0) == 3
