"""Orders of nodes, where the best one is known."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.ring_order import RingOrder, best_ring, ring_order
from tests.support.link_files import link_map, write_pairs


def ordered(folder: Path, *maps: np.ndarray) -> RingOrder | None:
    write_pairs(folder, maps)
    (row,) = report_of([folder]).rows
    return ring_order(row)


def slowest(times: np.ndarray, order: np.ndarray) -> float:
    return float(times[order, np.roll(order, -1)].max())


@given(st.integers(3, 24), st.integers(0, 10_000))
def test_a_ring_has_each_node_once_and_is_no_slower(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = 1 + rng.exponential(1, (count, count)) * (rng.random((count, count)) < 0.3)
    times = np.maximum(times, times.T)
    order = best_ring(times)
    assert order[0] == 0
    assert sorted(order) == list(range(count))
    assert (times[order, np.roll(order, -1)] ** 16).sum() <= (1 + 1e-9) * (
        times[np.arange(count), np.roll(np.arange(count), -1)] ** 16
    ).sum()


@settings(max_examples=20)
@given(st.integers(5, 7), st.integers(0, 10_000))
def test_a_few_slow_links_are_avoided_as_well_as_by_any_order(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.ones((count, count))
    for _ in range(2):
        i, j = rng.choice(count, 2, replace=False)
        times[i, j] = times[j, i] = 2 + rng.random()
    best = min(slowest(times, np.array([0, *rest])) for rest in permutations(range(1, count)))
    assert slowest(times, best_ring(times)) == best


@pytest.mark.parametrize("nodes", [4, 64])
def test_an_order_without_slow_links_stays(nodes: int) -> None:
    assert list(best_ring(np.ones((nodes, nodes)))) == list(range(nodes))


def test_groups_that_take_turns_are_put_together() -> None:
    side = np.arange(16) % 2
    times = np.where(side[:, None] == side[None], 1.0, 2.0)
    order = best_ring(times)
    assert (times[order, np.roll(order, -1)] == 2).sum() == 2


@pytest.mark.parametrize("first", [0, 6, 7])
def test_a_slow_link_of_the_ring_is_avoided_with_the_gain_of_the_others(
    tmp_path: Path, first: int
) -> None:
    speeds = link_map(8)
    speeds[first, (first + 1) % 8] = 10.0
    found = ordered(tmp_path, speeds)
    assert found is not None
    assert sorted(found.order) == [f"n{node}" for node in range(8)]
    pairs = set(zip(found.order, (*found.order[1:], found.order[0]), strict=True))
    slow = f"n{first}", f"n{(first + 1) % 8}"
    assert not pairs & {slow, slow[::-1]}
    assert found.gain == pytest.approx(3, rel=0.05)
    assert (found.now_slow, found.slow) == (1, 0)


def test_no_order_is_made_where_it_would_gain_nothing(tmp_path: Path) -> None:
    nothing, aside, node = link_map(8), link_map(8), link_map(8)
    aside[2, 6] = 10.0  # not in the ring
    node[3] *= 0.5
    node[:, 3] *= 0.5  # left out, not put elsewhere
    for number, speeds in enumerate((nothing, aside, node, link_map(3))):
        assert ordered(tmp_path / str(number), speeds) is None


def test_a_node_with_slow_links_is_left_out(tmp_path: Path) -> None:
    speeds = link_map(8)
    speeds[3] *= 0.4
    speeds[:, 3] *= 0.4
    speeds[5, 6] *= 0.5
    found = ordered(tmp_path, speeds)
    assert found is not None
    assert sorted(found.order) == [f"n{node}" for node in (0, 1, 2, 4, 5, 6, 7)]
    assert found.gain == pytest.approx(1, rel=0.05)


def test_interleaved_switches_are_put_together(tmp_path: Path) -> None:
    """Two links across are needed, so the slowest is as slow: fewer share the way."""
    side = np.arange(8) % 2
    speeds = link_map(8) * np.where(side[:, None] == side[None], 1.0, 0.5)
    found = ordered(tmp_path, speeds)
    assert found is not None
    assert (found.now_slow, found.slow) == (8, 2)
    assert found.gain == pytest.approx(0, abs=0.1)
