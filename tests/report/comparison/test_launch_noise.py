"""What the launches of other benchmarks tell of one."""

import math

import numpy as np
import pytest

from milabench_ddp.report.comparison.launch_noise import UNKNOWN, Variance, moderated


def estimated(stds: "np.ndarray | list[float]", freedom: int, seed: int) -> list[Variance]:
    """Variances as so many degrees of freedom estimate them."""
    draw = np.random.default_rng(seed)
    found = np.asarray(stds) ** 2 * draw.chisquare(freedom, size=len(stds)) / freedom
    return [Variance(float(value), freedom) for value in found]


def wide(found: list[Variance]) -> float:
    """How far the deviations are apart, but the farthest."""
    stds = sorted(each.std for each in found)
    return stds[-4] / stds[3]


def test_benchmarks_that_are_alike_tell_each_other_their_variance() -> None:
    own = estimated([0.01] * 30, 2, seed=1)
    together = moderated(own)
    stds = [each.std for each in together]
    assert wide(own) > 3
    assert wide(together) < 1.5
    assert np.mean(stds) == pytest.approx(0.01, rel=0.2)
    assert np.median([each.freedom for each in together]) > 5


def test_benchmarks_that_differ_keep_their_own() -> None:
    own = estimated(np.geomspace(1e-4, 0.1, 30), 8, seed=2)
    for each, found in zip(own, moderated(own), strict=True):
        assert each.std / 2 < found.std < 2 * each.std
        assert found.freedom < 12


def test_one_that_clearly_varies_more_stands_for_itself() -> None:
    own = [*estimated([0.01] * 29, 8, seed=3), Variance(0.05**2, 8)]
    found = moderated(own)
    assert found[-1] == own[-1]
    assert np.mean([each.std for each in found[:-1]]) == pytest.approx(0.01, rel=0.2)


def test_few_benchmarks_stand_for_themselves() -> None:
    own = [Variance(1e-4, 2), Variance(4e-4, 2)]
    assert moderated(own) == own


def test_what_is_not_known_stays_so() -> None:
    own = [*estimated([0.01] * 5, 8, seed=4), UNKNOWN]
    assert moderated(own)[-1] == UNKNOWN
    assert moderated([UNKNOWN] * 3) == [UNKNOWN] * 3
    assert math.isnan(UNKNOWN.std)


def test_equal_launches_have_a_variance_of_0_and_tell_nothing_of_others() -> None:
    own = [Variance(0.0, 8), *estimated([0.01] * 5, 8, seed=5)]
    assert 0 < moderated(own)[0].std < 0.01
    assert moderated(own)[1:] == moderated(own[1:])
    assert moderated([Variance(0.0, 8)] * 4) == [Variance(0.0, 8)] * 4
