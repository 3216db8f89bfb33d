"""The scores of slow groups."""

import math

import numpy as np
import pytest

from milabench_ddp.report.link_groups import noise_of, scored, slow_groups
from milabench_ddp.report.statistics.student import tail


@pytest.mark.parametrize("freedom", [4.0, 20.0, 1000.0])
@pytest.mark.parametrize("t", [4.0, 8.0])
def test_a_score_bounds_the_probability_of_students_t(freedom: float, t: float) -> None:
    (score,) = scored(np.array([t]), 1.0, freedom, 0.0)
    assert tail(t, freedom) < math.exp(-score) < 60 * tail(t, freedom)


def test_the_noise_is_that_of_most_values_or_of_few() -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(0, 0.1, 1000)
    many[:50] = 9
    assert noise_of(many)[0] == pytest.approx(0.1, rel=0.15)
    assert noise_of(np.array([1.0, 2.0, 3.0])) == (1.0, 2.0)


@pytest.mark.parametrize("members", [(0, 1), (6, 7), (1, 3, 6)])
def test_a_planted_group_is_the_clearest(members: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    both = rng.normal(0, 0.01, (8, 8))
    both = (both + both.T) / 2
    inside = np.isin(np.arange(8), members)
    both[inside[:, None] ^ inside[None]] -= 0.5
    np.fill_diagonal(both, np.nan)
    best = max(slow_groups(both), key=lambda each: each.score)
    assert (best.shape, best.ends) == ("across", members)
