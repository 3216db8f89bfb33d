"""Series whose changes are known; ``tests/studies/planted_history.py`` has the rates over many."""

import numpy as np
import pytest

from milabench_ddp.report.history.change_points import Changes, Segment, changes_of
from milabench_ddp.report.history.noise import family_of

Floats = np.ndarray


def noise(seed: int, runs: int = 40, deviation: float = 0.01) -> Floats:
    return deviation * np.random.default_rng(seed).normal(size=runs)


def found(values: Floats, *others: Floats) -> Changes:
    return changes_of(values, family_of([values, *others], 0.025))


def steps(values: Floats) -> list[int]:
    return [step.at for step in found(values).steps]


@pytest.mark.parametrize("at", [8, 20, 34])
@pytest.mark.parametrize("size", [-0.06, 0.06])
def test_a_step_is_found_with_its_size(at: int, size: float) -> None:
    for seed in range(5):
        values = noise(seed)
        values[at:] += size
        (step,) = found(values).steps
        assert abs(step.at - at) <= 1
        assert step.size == pytest.approx(size, abs=0.02)


def test_the_interval_of_a_step_holds_its_size() -> None:
    held = 0
    for seed in range(40):
        values = noise(seed)
        values[20:] -= 0.08
        (step,) = found(values).steps
        held += abs(step.size + 0.08) <= step.error
    assert held >= 34


def test_a_fault_that_was_mended_is_two_steps() -> None:
    values = noise(3)
    values[15:25] -= 0.08
    assert steps(values) == [15, 25]


def test_levels_to_which_a_series_returns_are_visited_again() -> None:
    values = noise(3, deviation=0.005)
    values[10:20] -= 0.08
    values[30:] -= 0.08
    changes = found(values)
    assert [step.at for step in changes.steps] == [10, 20, 30]
    assert [changes.visits(step.at, 0.01) for step in changes.steps] == [2, 2, 2]
    values[30:] -= 0.08
    changes = found(values)
    assert [changes.visits(step.at, 0.01) for step in changes.steps] == [1, 2, 1]


def test_small_steps_one_after_another_are_no_return() -> None:
    """The level after each is close to that after the next, but was never left."""
    segments = [Segment(10 * k, 10 * k + 10, level, level) for k, level in enumerate((0, 3, 3.5))]
    assert [Changes(tuple(segments)).visits(at, 1.0) for at in (10, 20)] == [1, 1]


def test_runs_that_are_like_those_before_are_no_change() -> None:
    """One alarm in 20 is expected; with the correlation of independent runs there are eight."""
    alarms = 0
    for seed in range(40):
        values = noise(seed)
        for run in range(1, 40):
            values[run] = 0.9 * values[run - 1] + (1 - 0.9**2) ** 0.5 * values[run]
        alarms += any(found(values[:runs]).whole.size for runs in range(8, 41, 4))
    assert alarms <= 4


def test_a_series_that_does_not_change_has_none() -> None:
    for seed in range(20):
        assert len(found(noise(seed)).segments) == 1


@pytest.mark.parametrize("at", [0, 10, 38, 39])
def test_a_lone_run_is_no_change(at: int) -> None:
    values = noise(1)
    values[at] -= 0.3
    changes = found(values)
    assert len(changes.segments) == 1
    assert changes.whole.size == 0


def test_many_small_losses_drift() -> None:
    """0.5 % less after each fifth run: no loss is as large as the noise, all are 3.5 %."""
    values = noise(2, deviation=0.004) - 0.005 * (np.arange(40) // 5)
    changes = found(values)
    assert not changes.steps
    assert changes.whole.size == pytest.approx(-0.0385, abs=0.008)


def test_a_wave_of_a_day_is_no_change_of_the_level() -> None:
    """Neither where runs are at other hours, nor where neighbours are alike."""
    for period in (4, 24):
        wave = 0.02 * np.sin(2 * np.pi * np.arange(40) / period)
        assert not steps(wave + noise(0, deviation=0.003))


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0, 2.0], [0.0] * 40])
def test_few_runs_and_equal_ones(values: list[float]) -> None:
    changes = found(np.array(values))
    assert not changes.steps


def test_exact_numbers_have_exact_steps() -> None:
    values = np.where(np.arange(12) < 7, 1.0, 0.9)
    assert steps(values) == [7]
