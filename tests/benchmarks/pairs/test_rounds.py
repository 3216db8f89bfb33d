from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.pairs.rounds import SCHEDULES, Seen, schedule, slower, slowest_way, suspects

ONE_NODE = ["a"] * 4


@given(st.sampled_from(SCHEDULES), st.integers(2, 33))
def test_each_pair_meets_once_and_no_rank_twice_in_a_round(kind, ranks):
    rounds = list(schedule(kind, ranks))
    met = [pair for pairs in rounds for pair in pairs]
    assert sorted(met) == list(combinations(range(ranks), 2))
    for pairs in rounds:
        busy = [rank for pair in pairs for rank in pair]
        assert len(busy) == len(set(busy))
    expected = {"alone": ranks * (ranks - 1) // 2, "rounds": ranks - 1 + ranks % 2}
    assert len(rounds) == expected[kind]


def links(ms, **slow):
    """The times of all ways between four ranks; ``slow`` names those of others, such as ``w12``."""
    found = {}
    for first, second in combinations(range(4), 2):
        for ways in (((first, second),), ((second, first),), ((first, second), (second, first))):
            name = "w" + "".join(f"{sender}{receiver}" for sender, receiver in ways)
            found[ways] = [99.0, *[slow.get(name, ms)] * 3]
    return found


def test_the_slower_rank_of_each_observation_counts():
    ways = ((0, 1),)
    seen = [[Seen(ways, [9.0, 3.0, 1.0])], [Seen(ways, [0.0, 1.0, 2.0])], []]
    assert slower(seen) == {ways: [9.0, 3.0, 2.0]}


def test_only_the_slowest_is_measured_again_where_all_are_alike():
    found = links(1.0, w31=1.1, w0220=1.2)
    assert slowest_way(found) == ((3, 1),)
    assert suspects(found, ONE_NODE) == [((3, 1),)]


def test_ways_that_are_slow_for_their_kind_are_measured_again():
    found = links(1.0, w31=3.0, w02=1.3, w0330=2.0)
    assert set(suspects(found, ONE_NODE)) == {((3, 1),), ((0, 2),), ((0, 3), (3, 0))}


@pytest.mark.parametrize("inner", ["w01", "w23"])
def test_links_within_a_node_are_not_compared_with_those_between_nodes(inner):
    between = {f"w{first}{second}": 10.0 for first in (0, 1) for second in (2, 3)}
    between |= {f"w{second}{first}": 10.0 for first in (0, 1) for second in (2, 3)}
    found = links(1.0, **between, **{inner: 2.0})
    first, second = map(int, inner[1:])
    (slowest, slow) = suspects(found, ["a", "a", "b", "b"])
    assert found[slowest][1] == 10.0
    assert slow == ((first, second),)
