import numpy as np
import pytest

from milabench_ddp.report.levels import COLD, FEW, is_level, visits, visits_if_few
from tests.support.rates import alternating, approaching, dwelling, falling, noisy

SEEDS = range(40)


def found(rates: list[float]) -> int | None:
    return visits(np.array(rates))


def at_levels(*lengths: int, seed: int = 1, apart: float = 8.0) -> list[float]:
    """Two levels in turn, for these numbers of observations."""
    rates: list[float] = []
    for number, length in enumerate(lengths):
        rates += noisy(length, 0.0, seed + number, 100 - apart * (number % 2))
    return rates


@pytest.mark.parametrize("scale", [1, 3, 16])
def test_visits_to_two_levels_are_counted(scale: int) -> None:
    lengths = [scale * length for length in (20, 5, 15, 20)]
    for seed in SEEDS:
        assert found(at_levels(*lengths, seed=seed)) == 4
    assert found(alternating(60, 1)) == 6


@pytest.mark.parametrize(("n", "correlation"), [(60, 0.0), (60, 0.5), (200, 0.5), (200, 0.9)])
def test_noise_has_no_levels(n: int, correlation: float) -> None:
    few = [visits_if_few(np.array(noisy(n, correlation, seed)), 0) for seed in SEEDS]
    assert sum(map(bool, few)) <= 2
    assert found([100.0] * n) is None


def test_pauses_and_falls_are_no_levels() -> None:
    for seed in SEEDS:
        rates = noisy(200, 0.0, seed)
        paused = [rate / (3 if (k + seed) % 20 == 0 else 1) for k, rate in enumerate(rates)]
        assert found(paused) is None
        assert found(falling(200, seed, 0.05)) is None


def test_many_visits_are_enough() -> None:
    rates = at_levels(*[10] * 20)
    assert found(rates) == 20
    assert visits_if_few(np.array(rates), 0) == 0
    assert visits_if_few(np.array(at_levels(*[40] * (FEW - 1))), 0) == FEW - 1


def test_visits_within_a_supposed_start_up_count() -> None:
    """What is left out shows the two levels, the rest is at one of them."""
    rates = np.array(at_levels(10, 10, 10, 30))
    assert visits_if_few(rates, 30) == 4
    assert visits_if_few(np.array(at_levels(10, 50)), 10) == 0  # a start-up: one change


def test_few_of_many_series_with_long_dwells_are_silent() -> None:
    few = [visits_if_few(np.array(dwelling(100, seed)[:40]), 0) for seed in SEEDS]  # n / 4
    assert sum(map(bool, few)) >= 28


def test_a_start_up_approaches_the_rest_and_a_level_does_not() -> None:
    ramp = np.array(approaching(200, 1, 0.05))
    assert not is_level(ramp[:30], ramp[30:])
    level = np.array(at_levels(30, 170))
    assert is_level(level[:30], level[30:])
    assert not is_level(level[: COLD - 1], level[30:])
