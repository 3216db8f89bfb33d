"""Properties of the schedule, on random sweeps with random durations on nodes that may be lost."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.dispatch.placement import pick


@pytest.mark.parametrize(
    ("waiting", "free", "alive", "chosen"),
    [
        ({}, [0, 1], [0, 1], []),
        ({"a": 1}, [], [0], []),
        ({"small": 1, "big": 2}, [0, 1, 2], [0, 1, 2], [("big", (0, 1)), ("small", (2,))]),
        ({"first": 1, "second": 1}, [4], [4], [("first", (4,))]),
        # big does not fit: nodes 0, 1 and 2 are kept for it, and only 3 is for others
        ({"big": 3, "s": 1, "t": 1}, [0, 3], [0, 1, 2, 3], [("s", (3,))]),
        # what is larger than all that is left keeps no node from others
        ({"gone": 3, "s": 1}, [0, 1], [0, 1], [("s", (0,))]),
        # nodes are kept for the largest alone
        ({"big": 4, "mid": 3, "s": 1}, [1, 2, 4], [0, 1, 2, 3, 4], [("s", (4,))]),
    ],
)
def test_what_is_picked(
    waiting: dict[str, int], free: list[int], alive: list[int], chosen: list[object]
) -> None:
    assert pick(waiting, free, alive) == chosen


sizes = st.lists(st.integers(1, 6), max_size=12)
nodes = st.sets(st.integers(0, 9), max_size=8)


@given(sizes, nodes, st.data())
def test_no_node_is_given_twice_and_each_is_free(
    sizes: list[int], alive: set[int], data: st.DataObject
) -> None:
    free = data.draw(st.sets(st.sampled_from(sorted(alive))) if alive else st.just(set()))
    waiting = dict(enumerate(sizes))
    chosen = pick(waiting, sorted(free), sorted(alive))
    given_out = [node for _, ranks in chosen for node in ranks]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) <= free
    assert all(len(ranks) == waiting[name] for name, ranks in chosen)
    order = [waiting[name] for name, _ in chosen]
    assert order == sorted(order, reverse=True)


@given(sizes, nodes)
def test_all_that_fits_on_free_nodes_side_by_side_begins_at_once(
    sizes: list[int], alive: set[int]
) -> None:
    waiting = dict(enumerate(sizes))
    started = {name for name, _ in pick(waiting, sorted(alive), sorted(alive))}
    if sum(sizes) <= len(alive):
        assert started == set(waiting)
    if any(size <= len(alive) for size in sizes):
        assert max(size for size in sizes if size <= len(alive)) in {waiting[p] for p in started}


@dataclass
class Simulated:
    """A simulated sweep: benchmarks end after their durations, nodes are lost at given times."""

    sizes: Sequence[int]
    durations: Sequence[int]
    count: int
    goes: dict[int, int] = field(default_factory=dict)  # time -> node
    began: dict[int, int] = field(default_factory=dict)  # benchmark -> time
    busy: dict[int, int] = field(default_factory=dict)  # node -> benchmark

    def run(self) -> None:
        alive = set(range(self.count))
        waiting = dict(enumerate(self.sizes))
        ends: list[tuple[int, int]] = []
        moments = sorted(self.goes)
        now = 0
        while True:
            free = sorted(alive - set(self.busy))
            for name, ranks in pick(waiting, free, sorted(alive)):
                del waiting[name]
                self.began[name] = now
                for rank in ranks:
                    assert rank not in self.busy
                    self.busy[rank] = name
                heapq.heappush(ends, (now + self.durations[name], name))
            if not ends and not moments:
                return
            if moments and (not ends or moments[0] <= ends[0][0]):
                now = moments.pop(0)
                alive.discard(self.goes[now])
            else:
                now, done = heapq.heappop(ends)
                self.busy = {n: p for n, p in self.busy.items() if p != done}


sweeps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 20)), min_size=1, max_size=15)


@settings(max_examples=200)
@given(sweeps, st.integers(1, 5), st.dictionaries(st.integers(0, 60), st.integers(0, 4)))
def test_whatever_fits_on_the_nodes_that_stay_begins(
    sweep: list[tuple[int, int]], count: int, goes: dict[int, int]
) -> None:
    sim = Simulated([s for s, _ in sweep], [d for _, d in sweep], count, goes)
    sim.run()
    left = count - len({node for node in goes.values() if node < count})
    assert all(name in sim.began for name, (size, _) in enumerate(sweep) if size <= left)


@given(sweeps, st.integers(1, 5))
def test_a_large_benchmark_waits_no_longer_than_what_ran_when_it_was_the_largest(
    sweep: list[tuple[int, int]], count: int
) -> None:
    """Small benchmarks never start before it on the nodes that are kept for it."""
    sizes = [min(size, count) for size, _ in sweep]
    durations = [duration for _, duration in sweep]
    sim = Simulated(sizes, durations, count)
    sim.run()
    for name, size in enumerate(sizes):
        if size < count:
            continue  # one that needs all nodes: nothing smaller begins before it
        smaller = [sim.began[p] for p, other in enumerate(sizes) if other < size]
        assert all(sim.began[name] <= began for began in smaller)
