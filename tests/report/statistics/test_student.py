"""Against the tables of textbooks, and of the functions against each other."""

import math

import numpy as np
import pytest

from milabench_ddp.report.statistics.student import (
    assured,
    digamma,
    incomplete_beta,
    inverse_trigamma,
    quantile,
    tail,
    tail_of_f,
    trigamma,
)

# Student's t, the quantile 0.975, by degrees of freedom
T_QUANTILES = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    10: 2.228,
    12: 2.179,
    15: 2.131,
    20: 2.086,
    30: 2.042,
    60: 2.000,
    math.inf: 1.960,
}


def test_the_quantiles_of_the_table() -> None:
    for freedom, expected in T_QUANTILES.items():
        assert quantile(0.025, freedom) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(
    ("above", "freedom", "t"),
    [(0.0005, 1, 636.62), (0.0005, 8, 5.041), (0.001, 2, 22.327), (0.1, 30, 1.3104)],
)
def test_far_quantiles(above: float, freedom: float, t: float) -> None:
    assert quantile(above, freedom) == pytest.approx(t, rel=2e-4)
    assert tail(t, freedom) == pytest.approx(above, rel=1e-3)
    assert tail(-t, freedom) == pytest.approx(1 - above, rel=1e-3)


def test_two_degrees_of_freedom_are_known_in_full() -> None:
    for t in (0.0, 0.1, 1.0, 10.0, 1e4):
        # 1/2 - t/(2 sqrt(2 + t^2)), without its cancellation
        root = math.sqrt(2 + t * t)
        assert tail(t, 2) == pytest.approx(1 / (root * (root + t)), rel=1e-9)


def test_many_degrees_of_freedom_are_normal() -> None:
    assert tail(1.959964, math.inf) == pytest.approx(0.025, rel=1e-6)
    assert tail(1.959964, 9e5) == pytest.approx(0.025, rel=1e-4)


def test_the_tail_of_f() -> None:
    assert tail_of_f(3.48, 4, 10) == pytest.approx(0.05, rel=2e-3)
    assert tail_of_f(4.0, 1, 7) == pytest.approx(2 * tail(2.0, 7))
    assert tail_of_f(0.0, 4, 10) == 1.0


def test_the_incomplete_beta_function() -> None:
    assert incomplete_beta(2, 3, 0.0) == 0.0
    assert incomplete_beta(2, 3, 1.0) == 1.0
    assert incomplete_beta(1, 1, 0.3) == pytest.approx(0.3)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248)


def test_digamma_and_trigamma() -> None:
    assert digamma(1) == pytest.approx(-0.5772156649, abs=1e-9)
    assert digamma(0.5) == pytest.approx(-1.9635100260, abs=1e-9)
    assert trigamma(1) == pytest.approx(math.pi**2 / 6, abs=1e-9)
    for x in (0.01, 0.5, 4.0, 200.0):
        assert inverse_trigamma(trigamma(x)) == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize("freedom", [3, 4, 8, 30])
@pytest.mark.parametrize("level", [0.025, 0.002])
def test_an_assured_change_is_found_in_nine_of_ten_tests(freedom: int, level: float) -> None:
    """Of a noise that was estimated once, and again by the test that is to find the change."""
    draw = np.random.default_rng(freedom)
    t = quantile(level, freedom)
    known, again = np.sqrt(draw.chisquare(freedom, (2, 100_000)) / freedom)
    change = assured(t, 0.1, freedom, freedom) * known
    found = float((change + draw.normal(size=100_000) > t * again).mean())
    assert found == pytest.approx(0.9, abs=0.015)
    naive = (t + quantile(0.1, freedom)) * known
    assert float((naive + draw.normal(size=100_000) > t * again).mean()) < 0.89


def test_nothing_is_assured_of_a_noise_that_is_hardly_known() -> None:
    assert assured(12.7, 0.05, 1, 1) == math.inf
    assert assured(1.96, 0.1, 1e9, 1e9) == pytest.approx(1.96 + 1.2816, rel=1e-4)
