"""The slowest of many nodes, against planted order statistics and against events."""

import numpy as np
import pytest
from msgspec.structs import astuple

from milabench_ddp.report.prediction.noise import MOST, own_work, resampled
from tests.support.planted_scaling import Planted, heavy, normal

ONE, NOTHING = np.ones(1), np.zeros(1)


@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_the_largest_of_exponential_draws(count: int) -> None:
    """Its expectation is the harmonic number: 1 + 1/2 + ... + 1/n."""
    launch = Planted(noise=heavy, launch=0.0).launched(4, np.random.default_rng(1), 4000)
    own = own_work([launch], 1, launch.level)
    harmonic = sum(1 / k for k in range(1, count + 1))
    slowest = own.slowest(count, ONE, NOTHING)
    assert slowest == pytest.approx(100 * (1 + 0.04 * (harmonic - 1)), rel=0.004)


@pytest.mark.parametrize("beta", [1e5, 4e6, 1e9])
def test_the_end_of_the_last_bucket_is_that_of_the_events(beta: float) -> None:
    plant = Planted(beta=beta, jitter=0.0, launch=0.0)
    launch = plant.launched(3, np.random.default_rng(2), 2000)
    ms = plant.messages(3)
    tails = np.cumsum(ms[::-1])[::-1]
    own = own_work([launch], 1, launch.level)
    found = own.slowest(3, np.array(plant.ready), tails)
    assert found == pytest.approx(launch.step, rel=0.002)


def test_ranks_of_a_node_are_drawn_together() -> None:
    """Both ranks of a node pause in the same step, so two of them pause no more often than one."""
    launch = Planted(noise=lambda _, ranks, steps: np.zeros((ranks, steps))).launched(
        4, np.random.default_rng(3), 100
    )
    launch.before[:2, ::10] += 50.0  # the first node, in every tenth step
    nodes = ("a", "a", "b", "b")
    by_node = own_work([type(launch)(nodes, *astuple(launch)[1:])], 2, launch.level)
    by_rank = own_work([launch], 1, launch.level)
    assert by_node.before.shape == (200, 2)
    base = float(launch.own.min())
    assert by_node.slowest(1, ONE, NOTHING) == pytest.approx(base + 50 * 0.05)
    assert by_rank.slowest(2, ONE, NOTHING) == pytest.approx(base + 50 * (1 - 0.95**2))


def test_a_level_scales_own_work_alone() -> None:
    launch = Planted().launched(2, np.random.default_rng(4))
    own = own_work([launch], 1, launch.level)
    tail = np.array([30.0])
    whole = own.slowest(2, ONE, tail)
    assert own.slowest(2, ONE, tail, 1.1) == pytest.approx(30 + 1.1 * (whole - 30))


def test_blocks_of_steps_are_resampled() -> None:
    launches = [Planted(noise=normal).launched(n, np.random.default_rng(5), 200) for n in (1, 4)]
    found = resampled(launches, np.random.default_rng(6))
    assert [len(steps) for steps in found] == [200, 200]
    for steps in found:
        assert set(np.diff(steps.reshape(-1, 10), axis=1).ravel() % 200) == {1}


def test_a_resample_of_many_ranks_stays_small() -> None:
    launch = Planted().launched(512, np.random.default_rng(7), 1000)
    (steps,) = resampled([launch], np.random.default_rng(8))
    assert len(steps) * 512 <= 1.1 * MOST
