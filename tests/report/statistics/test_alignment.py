"""Clocks that differ by anything and drift: the offsets are known, and must be found."""

import numpy as np
import pytest

from milabench_ddp.report.statistics.window import align

STEPS, STEP_MS = 600, 20.0


def moments(seed: int, steps: int = STEPS) -> np.ndarray:
    """The true moments at which the communication of each step ends, in ms."""
    return np.cumsum(STEP_MS * np.random.default_rng(seed).lognormal(0.0, 0.1, steps))


@pytest.mark.parametrize("offset", [-11_000.0, 0.0, 11_000.0])
@pytest.mark.parametrize("ppm", [-50.0, 0.0, 50.0])
def test_to_a_millisecond_over_clocks_11_s_apart_that_drift(offset: float, ppm: float):
    """Each rank sees an end up to 0.2 ms late, and every 50th is 30 ms late on one of them."""
    true, random = moments(1), np.random.default_rng(2)
    seen = [true + random.uniform(0.0, 0.2, STEPS) for _ in range(2)]
    seen[0][::50] += 30.0
    seen[1][25::50] += 30.0
    ends = seen[1] * (1 + ppm * 1e-6) + offset
    found = align(seen[0], ends)
    wrong = ends + found.offsets - seen[1]
    assert np.abs(wrong).max() < 0.2
    assert 0.01 < found.spread < 0.2


def test_what_passes_between_the_steps_of_one_rank_alone():
    """Rank 0 reports after every tenth step, for 0.3 ms, which is in no step of its own."""
    true = moments(3)
    reporting = 0.3 * (np.arange(STEPS) // 10)
    found = align(true, true - reporting)
    assert np.abs(found.offsets - reporting).max() < 0.5


@pytest.mark.parametrize("steps", [1, 2, 3, 20, 21, 22])
def test_few_steps(steps: int):
    true = moments(4, steps)
    found = align(true, true - 7.0)
    assert found.offsets == pytest.approx(7.0)
    assert found.spread == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("ours", "theirs"), [(30, 40), (40, 30)])
def test_a_rank_that_ended_earlier(ours: int, theirs: int):
    true = moments(5, 40)
    found = align(true[:theirs], true[:ours] - 5.0)
    assert found.offsets.shape == (ours,)
    assert found.offsets == pytest.approx(5.0)


def test_the_spread_is_that_of_the_moments():
    true, random = moments(6), np.random.default_rng(3)
    found = align(true, true + random.normal(0.0, 2.0, STEPS))
    assert found.spread == pytest.approx(0.6745 * 2.0, rel=0.15)
