"""How wrong the scale of one parameter may be: what rounding is known to do, or may do."""

import math

import pytest
import torch

from benchmarks.common.gradients import Expected, RankResult, difference
from benchmarks.common.verdict import OF_GRADIENT, judge

GENERATOR = torch.Generator().manual_seed(0)
RIGHT = torch.randn(1000, generator=GENERATOR, dtype=torch.float64)
NOISE = torch.randn(1000, generator=GENERATOR, dtype=torch.float64)


def verdict(found, rounding, *, reordered, others=()):
    """The verdict on gradients of one parameter, and of ``others``: name, found, rounding."""
    given = [("a", found, rounding), *(others or [("b", RIGHT, 0.0)])]
    expected = Expected([1.0], dict.fromkeys("ab", RIGHT), {"a": rounding}, reordered)
    parts = {(name,): difference(wrong, RIGHT, error) for name, wrong, error in given}
    return judge(expected, [RankResult([1.0], parts, {}, {})], 1e-3, "bf16", 2)


@pytest.mark.parametrize("reordered", [True, False])
@pytest.mark.parametrize("scale", [1.0, 0.99, 1.01])
def test_a_hundredth_stands_out_of_random_rounding_of_a_hundredth(scale, reordered):
    found = verdict(scale * RIGHT + 0.01 * NOISE, 0.01 * NOISE, reordered=reordered)
    assert found.gradient_scale.ok is (scale == 1.0)
    assert found.ok is (scale == 1.0)
    assert OF_GRADIENT < found.gradient_scale.tolerance < 0.008
    assert found.payload()["scale_of_gradients"]["unsure"] == 0


@pytest.mark.parametrize("drift", [0.008, -0.008])
def test_rounding_that_is_known_may_be_there_or_not(drift):
    """Gradients may be added in the coarse type that was announced, or in a finer one."""
    for there in (0.0, drift):
        known = verdict((1 + there) * RIGHT, drift * RIGHT, reordered=False)
        assert known.gradient_scale.ok
    assert not verdict((1 + 2 * drift) * RIGHT, drift * RIGHT, reordered=False).gradient_scale.ok
    assert verdict((1 - drift) * RIGHT, drift * RIGHT, reordered=True).gradient_scale.ok


def test_a_gradient_that_is_rounding_has_no_scale_and_is_counted():
    rounding = [("b", RIGHT + NOISE, NOISE)]
    found = verdict(RIGHT, 0.0 * RIGHT, reordered=True, others=rounding)
    assert found.gradient_scale.parameter == "a"
    assert (found.gradient_scale.parts, found.gradient_scale.unsure) == (2, 1)


@pytest.mark.parametrize("reordered", [True, False])
def test_a_gradient_that_is_no_number_is_the_worst(reordered):
    wrong = [("b", math.nan * RIGHT, 0.0)]
    found = verdict(1.1 * RIGHT, 0.0 * RIGHT, reordered=reordered, others=wrong)
    assert found.gradient_scale.parameter == "b"
    assert not found.ok
    assert found.payload()["scale_of_gradients"]["error"] is None


def test_without_coarse_types_a_scale_is_known_to_a_thousandth():
    exact = 0.0 * RIGHT
    for scale, ok in ((1.0009, True), (1.0011, False)):
        found = verdict(scale * RIGHT, exact, reordered=True)
        assert found.gradient_scale.ok is ok
