import numpy as np
import pytest

from milabench_ddp.report.statistics.periodicity import excess_of, pauses_of


def noisy(count: int, seed: int = 1) -> np.ndarray:
    return 100 + np.random.default_rng(seed).standard_normal(count)


@pytest.mark.parametrize("at", [0, 1, 31, 58, 59])
def test_a_step_that_is_far_longer_is_a_pause(at: int) -> None:
    times = noisy(60)
    times[at] += 20
    assert pauses_of(times).at.tolist() == [at]


def test_steps_in_a_row_are_one_pause() -> None:
    times = noisy(200)
    times[[50, 51, 52, 120]] += 20
    assert pauses_of(times).at.tolist() == [50, 120]


def test_levels_and_ramps_are_no_pauses() -> None:
    times = noisy(1000) * np.linspace(1, 1.5, 1000)
    times[400:500] += 30
    assert len(pauses_of(times).at) <= 1
    assert abs(excess_of(times)[200:300].mean()) < 1


@pytest.mark.parametrize("count", [1, 2, 15, 16, 60, 130])
def test_without_pauses(count: int) -> None:
    assert pauses_of(noisy(count)).at.tolist() == []
    assert pauses_of(np.zeros(count)).at.tolist() == []
