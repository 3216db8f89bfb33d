import numpy as np
import pytest

from milabench_ddp.report.statistics.start_up import COLD, is_level, remainder
from tests.support.rates import approaching, noisy

SEEDS = range(20)


@pytest.mark.parametrize("start", [0.5, 0.9, 1.05])
@pytest.mark.parametrize(("n", "left_out"), [(60, 24), (200, 80), (1000, 300)])
def test_an_approach_is_no_level_and_has_a_remainder(start: float, n: int, left_out: int) -> None:
    """The time constant is 20 % of the run, so the mean of the rest is still off the level."""
    levels, errors = 0, []
    for seed in SEEDS:
        rates = np.array(approaching(n, seed, 0.2, start))
        levels += is_level(rates, left_out)
        place = np.arange(left_out, n)
        truth = 100 * (start - 1) * np.exp(-place / (0.2 * n)).mean()
        errors.append(remainder(rates, left_out) - truth)
    assert levels <= 3
    assert abs(np.median(errors)) < 0.25


@pytest.mark.parametrize("length", [5, 12, 25])
@pytest.mark.parametrize("level", [92.0, 108.0])
@pytest.mark.parametrize("beyond", [0, 3])
def test_a_level_is_found_however_much_is_left_out(length: int, level: float, beyond: int) -> None:
    found = 0
    for seed in SEEDS:
        rates = noisy(length, 0.0, seed, level) + noisy(60 - length, 0.0, seed + 100)
        found += is_level(np.array(rates), length + beyond)
    assert found >= 19


def test_cold_steps_have_no_shape() -> None:
    rates = np.array([30.0] * (COLD - 1) + noisy(60, 0.0, 1))
    assert not is_level(rates, COLD - 1)
    assert remainder(rates, COLD - 1) == 0
