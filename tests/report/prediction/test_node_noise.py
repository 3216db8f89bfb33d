"""The slowest of many nodes, against planted order statistics and against events."""

import numpy as np
import pytest
from msgspec.structs import astuple

from milabench_ddp.report.prediction.node_noise import (
    MOST,
    NodeLevels,
    nodes_of,
    own_work,
    resampled,
)
from tests.support.planted_scaling import Planted, heavy, normal

ONE, NOTHING = np.ones(1), np.zeros(1)
ALIKE = NodeLevels({}, 0.0, 0.0, 0)


@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_the_largest_of_exponential_draws(count: int) -> None:
    """Its expectation is the harmonic number: 1 + 1/2 + ... + 1/n."""
    launch = Planted(noise=heavy, launch=0.0).launched(4, np.random.default_rng(1), 4000)
    own = own_work([launch], 1, launch.level, ALIKE)
    harmonic = sum(1 / k for k in range(1, count + 1))
    slowest = own.slowest(np.zeros(count), ONE, NOTHING)
    assert slowest == pytest.approx(100 * (1 + 0.04 * (harmonic - 1)), rel=0.004)


@pytest.mark.parametrize("beta", [1e5, 4e6, 1e9])
def test_the_end_of_the_last_bucket_is_that_of_the_events(beta: float) -> None:
    plant = Planted(beta=beta, jitter=0.0, launch=0.0)
    launch = plant.launched(3, np.random.default_rng(2), 2000)
    ms = plant.messages(3)
    tails = np.cumsum(ms[::-1])[::-1]
    own = own_work([launch], 1, launch.level, ALIKE)
    found = own.slowest(np.zeros(3), np.array(plant.ready), tails)
    assert found == pytest.approx(launch.step, rel=0.002)


def test_ranks_of_a_node_are_drawn_together() -> None:
    """Both ranks of a node pause in the same step, so two of them pause no more often than one."""
    launch = Planted(noise=lambda _, ranks, steps: np.zeros((ranks, steps))).launched(
        4, np.random.default_rng(3), 100
    )
    launch.before[:2, ::10] += 50.0  # the first node, in every tenth step
    nodes = ("a", "a", "b", "b")
    by_node = own_work([type(launch)(nodes, *astuple(launch)[1:])], 2, launch.level, ALIKE)
    by_rank = own_work([launch], 1, launch.level, ALIKE)
    assert by_node.before.shape == (200, 2)
    base = float(launch.own.min())
    assert by_node.slowest(np.zeros(1), ONE, NOTHING) == pytest.approx(base + 50 * 0.05)
    assert by_rank.slowest(np.zeros(2), ONE, NOTHING) == pytest.approx(base + 50 * (1 - 0.95**2))


def test_a_level_scales_own_work_alone() -> None:
    launch = Planted().launched(2, np.random.default_rng(4))
    own = own_work([launch], 1, launch.level, ALIKE)
    tail = np.array([30.0])
    whole = own.slowest(np.zeros(2), ONE, tail)
    assert own.slowest(np.zeros(2), ONE, tail, 1.1) == pytest.approx(30 + 1.1 * (whole - 30))


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


def test_how_nodes_differ_is_found() -> None:
    """Node 7 is in no launch of several nodes but the largest one."""
    levels = (1.0, 1.05, 0.97, 1.02, 1.0, 0.94, 1.01, 1.08)
    plant = Planted(levels=levels, launch=0.05)
    chance = np.random.default_rng(9)
    launches = [plant.launched(count, chance) for count in (1, 2, 4, 8)]
    nodes = nodes_of(launches, 1)
    found = nodes.unlike(8, None)
    assert 1 + found == pytest.approx(np.array(levels) / np.exp(np.log(levels).mean()), abs=0.01)
    own = own_work(launches, 1, 100.0, nodes)
    assert own.before.reshape(15, -1).mean(axis=1) == pytest.approx(np.full(15, 40.0), rel=0.005)


def test_nodes_that_were_not_measured_are_as_different() -> None:
    nodes = NodeLevels({("a", 0): 0.02, ("b", 0): -0.02}, 0.03**2, 0.0, 50)
    assert nodes.unlike(1, None) == pytest.approx([np.expm1(0.02)])
    others = nodes.unlike(2002, None)[2:]
    assert float(np.log1p(others).std()) == pytest.approx(0.03, rel=0.01)
    drawn = np.array([np.log1p(nodes.unlike(12, seed)[2:]) for seed in range(400)])
    assert float(drawn.std(axis=1).mean()) == pytest.approx(0.03, rel=0.1)
    assert float(drawn.mean(axis=1).std()) == pytest.approx(0.03 * (1 / 2 + 1 / 10) ** 0.5, rel=0.1)


def test_the_slowest_of_nodes_that_differ() -> None:
    """Without noise it is the slowest node, whatever the communication."""
    launch = Planted(noise=lambda _, ranks, steps: np.zeros((ranks, steps)), launch=0.0).launched(
        2, np.random.default_rng(3), 10
    )
    own = own_work([launch], 1, 100.0, ALIKE)
    unlike = np.array([0.0, 0.1, -0.05])
    assert own.slowest(unlike, ONE, np.array([7.0])) == pytest.approx(117.0)
    early = own.slowest(unlike, np.array([0.1, 1.0]), np.array([100.0, 0.0]))
    assert early == pytest.approx(100 + 1.1 * 46)
