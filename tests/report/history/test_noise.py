"""What a family of series knows of its noise."""

import numpy as np
import pytest

from milabench_ddp.report.history.noise import Family, family_of, without_lone_runs

Floats = np.ndarray


def white(seed: int, count: int = 64, runs: int = 30, deviation: float = 0.01) -> list[Floats]:
    return list(deviation * np.random.default_rng(seed).normal(size=(count, runs)))


def one(family: Family, variance: float, freedom: float) -> float:
    count = freedom + 2  # of two levels
    rest = np.sqrt(variance * freedom / count) * np.resize([1.0, -1.0], (1, int(count)))
    found, *_ = family.moderated(rest, np.array([count]))
    return float(found[0])


def test_alike_series_share_their_variance() -> None:
    family = family_of(white(0), 0.05)
    assert family.variance == pytest.approx(1e-4, rel=0.2)
    assert family.prior > 50
    assert family.correlation < 0.1
    quiet = one(family, 0.25e-4, 4.0)
    assert quiet > 0.7e-4  # few runs that happen to be alike are not taken at their word


def test_a_variance_is_never_less_than_its_own() -> None:
    family = family_of(white(0), 0.05)
    assert one(family, 9e-4, 20.0) >= 9e-4


def test_series_that_differ_share_little() -> None:
    draw = np.random.default_rng(0)
    deviations = np.exp(draw.uniform(np.log(0.001), np.log(0.03), 64))
    uneven = family_of([each * draw.normal(size=30) for each in deviations], 0.05)
    assert uneven.prior < 5


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_correlation_of_neighbours_is_seen(correlation: float) -> None:
    values = np.array(white(0, runs=200)).T
    for run in range(1, 200):
        values[run] = correlation * values[run - 1] + (1 - correlation**2) ** 0.5 * values[run]
    assert family_of(list(values.T), 0.05).correlation == pytest.approx(correlation, abs=0.1)


def test_changes_of_the_level_are_no_correlation() -> None:
    values = white(0)
    for each in values:
        each[15:] -= 0.1
    assert family_of(values, 0.05).correlation < 0.1


def test_of_few_series_each_tells_its_own_correlation() -> None:
    draw = np.random.default_rng(0)
    alike = draw.normal(size=2000)
    for run in range(1, 2000):
        alike[run] = 0.9 * alike[run - 1] + (1 - 0.9**2) ** 0.5 * alike[run]
    rests = np.array([alike, draw.normal(size=2000)])
    family = family_of(list(rests), 0.05)
    assert family.correlation is None
    _, inflation, _ = family.moderated(rests - rests.mean(axis=1)[:, None], np.full(2, 2000.0))
    assert inflation[0] == pytest.approx(19, rel=0.2)  # (1 + 0.9) / (1 - 0.9)
    assert inflation[1] < 1.4


def test_outliers_are_counted() -> None:
    values = white(0)
    for each in values[:19]:
        each[10] -= 0.3
    family = family_of(values, 0.05)
    shares = family.share_beyond(np.array([15.0, 100.0]))
    assert shares == pytest.approx([20 / 1921, 1 / 1921])


def test_a_lone_run_is_taken_for_one_of_its_neighbours() -> None:
    values = np.zeros(12)
    values[[0, 5, 11]] = 1.0
    assert not without_lone_runs(values).any()
    values[10] = 1.0
    assert without_lone_runs(values)[10:].all()  # two in a row may be the beginning of a change
