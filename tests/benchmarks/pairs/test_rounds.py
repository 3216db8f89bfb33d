from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.pairs.rounds import (
    Seen,
    one_by_one,
    pairs_of,
    rounds_of,
    schedule,
    slower,
    slowest_round,
    slowest_way,
    suspects,
    units_of,
)

ONE_NODE = ["a"] * 4


@pytest.mark.parametrize("kind", ["alone", "rounds"])
def test_each_pair_meets_once_and_no_rank_twice_in_a_round(kind):
    for ranks in range(2, 129) if kind == "rounds" else (2, 3, 33):
        rounds = list(schedule(kind, ranks))
        met = [pair for pairs in rounds for pair in pairs]
        assert sorted(met) == list(combinations(range(ranks), 2))
        for pairs in rounds:
            busy = [rank for pair in pairs for rank in pair]
            assert len(busy) == len(set(busy))
        expected = {"alone": ranks * (ranks - 1) // 2, "rounds": ranks - 1 + ranks % 2}
        assert len(rounds) == expected[kind]


@pytest.mark.parametrize("ranks", [2, 8, 64, 128])
def test_a_round_has_all_pairs_across_the_middle(ranks):
    """In the order of the nodes, so a fabric that blocks is seen in one of the rounds."""
    half = ranks // 2
    across = [sum(a < half <= b for a, b in pairs) for pairs in schedule("rounds", ranks)]
    assert max(across) == half


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6).filter(lambda sizes: max(sizes) > 1))
def test_parts_of_the_ranks_meet_at_the_same_time(sizes):
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    parts = [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]
    rounds = rounds_of("rounds", parts)
    assert len(rounds) == max(size - 1 + size % 2 for size in sizes)
    seen = [ways for each in rounds for unit in units_of(each) for ways in unit]
    expected = []
    for part in parts:
        for first, second in combinations(part, 2):
            expected += [((first, second),), ((second, first),)]
            expected.append(((first, second), (second, first)))
    assert sorted(seen) == sorted(expected)
    for each in rounds:
        alone = one_by_one(each)
        assert sorted(ways for unit in alone for ways in unit) == sorted(
            ways for unit in units_of(each) for ways in unit
        )
        assert all(len(unit) <= len(parts) for unit in alone)


def test_a_pair_is_named_once():
    assert pairs_of([((3, 1),), ((0, 2),), ((1, 3), (3, 1)), ((2, 0),)]) == [(1, 3), (0, 2)]


@pytest.mark.parametrize("place", [0, 2])
def test_the_slowest_round_is_that_of_the_lowest_sum_of_rates(place):
    rounds = rounds_of("rounds", [range(4)])
    found = {ways: [99.0, 1.0] for each in rounds for unit in units_of(each) for ways in unit}
    for unit in units_of(rounds[place]):
        found |= {ways: [0.0, 1.5] for ways in unit}
    found[units_of(rounds[1])[0][0]] = [0.0, 2.0]  # a slow pair is not a slow round
    assert slowest_round(rounds, found) == place


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
    assert suspects(found, ONE_NODE) == {((3, 1),)}


def test_ways_that_are_slow_for_their_kind_are_measured_again():
    found = links(1.0, w31=3.0, w02=1.3, w0330=2.0)
    assert suspects(found, ONE_NODE) == {((3, 1),), ((0, 2),), ((0, 3), (3, 0))}


@pytest.mark.parametrize("inner", ["w01", "w23"])
def test_links_within_a_node_are_not_compared_with_those_between_nodes(inner):
    between = {f"w{first}{second}": 10.0 for first in (0, 1) for second in (2, 3)}
    between |= {f"w{second}{first}": 10.0 for first in (0, 1) for second in (2, 3)}
    found = links(1.0, **between, **{inner: 2.0})
    first, second = map(int, inner[1:])
    slow = suspects(found, ["a", "a", "b", "b"])
    assert slow == {((first, second),), slowest_way(found)}
    assert found[slowest_way(found)][1] == 10.0
