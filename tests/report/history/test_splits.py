"""Energy distances by their definition."""

import numpy as np
import pytest

from milabench_ddp.report.history.noise import energies, without_line, without_step


def by_definition(values: np.ndarray, split: int) -> float:
    """Matteson and James, equation 6 and 7: the mean distances between and within the sides."""
    first, second = values[:split], values[split:]
    n, m = len(first), len(second)
    between = np.abs(first[:, None] - second).mean()
    before = np.abs(first[:, None] - first).sum() / (n * (n - 1))
    after = np.abs(second[:, None] - second).sum() / (m * (m - 1))
    return float(n * m / (n + m) * (2 * between - before - after))


def test_the_energies_are_those_of_the_definition() -> None:
    values = np.random.default_rng(0).normal(size=9)
    found = energies(values)
    assert found.shape == (10, 10)
    for end in range(10):
        for split in range(10):
            if 2 <= split <= end - 2:
                expected = by_definition(values[:end], split)
                assert found[split, end] == pytest.approx(expected)
            else:
                assert found[split, end] == -np.inf


@pytest.mark.parametrize("at", [2, 5, 8])
def test_a_step_is_farthest_apart_at_its_place(at: int) -> None:
    values = np.where(np.arange(10) < at, 1.0, 2.0)
    assert int(energies(values)[:, 10].argmax()) == at
    assert without_step(values, at) == pytest.approx(np.zeros(10))


def test_nothing_is_left_of_a_line() -> None:
    assert without_line(3 - 0.5 * np.arange(7)) == pytest.approx(np.zeros(7), abs=1e-12)
