"""Isolation finds planted faults: bad nodes, pairs that are bad together, and numbers of nodes."""

import random
from itertools import combinations
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.plan.isolate import FLAKY, Isolation
from tests.support.planted_faults import PlantedFaults, isolated, ordered, planted


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(count))


@given(st.data(), st.integers(2, 200))
@settings(deadline=None, max_examples=150)
def test_where_every_probe_is_right_all_is_found_and_nothing_else(
    data: st.DataObject, count: int
) -> None:
    chance = data.draw(st.randoms(use_true_random=False))
    bad = data.draw(st.integers(0, count // 8))
    pairs = data.draw(st.integers(0, min(2, count // 8)))
    faults = planted(chance, count, bad, pairs)
    found = isolated(faults)
    assert found.is_right(faults), found
    assert found.rounds <= faults.most_rounds


@given(st.integers(3, 300), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_a_number_of_nodes_is_no_fault_of_any(count: int, chance: random.Random) -> None:
    faults = planted(chance, count, scale=True)
    found = isolated(faults)
    assert found.is_right(faults), found
    assert found.rounds <= faults.most_rounds


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7])
def test_each_node_and_each_pair_of_a_few(count: int) -> None:
    for node in names(count):
        faults = PlantedFaults(names(count), frozenset([node]))
        assert isolated(faults).is_right(faults), node
    for pair in combinations(names(count), 2):
        faults = PlantedFaults(names(count), pairs=frozenset([pair]))
        assert isolated(faults).is_right(faults), pair


def test_the_first_and_the_last_of_many() -> None:
    nodes = names(1_000)
    ends = PlantedFaults(nodes, frozenset({nodes[0], nodes[-1]}))
    assert isolated(ends).is_right(ends)
    far = PlantedFaults(nodes, pairs=frozenset([(nodes[0], nodes[-1])]))
    assert isolated(far).is_right(far)


def test_pairs_that_share_a_node_are_all_found() -> None:
    nodes = names(16)
    star = PlantedFaults(nodes, pairs=frozenset({("n1", "n5"), ("n1", "n9"), ("n5", "n9")}))
    found = isolated(star)
    assert found.pairs == {ordered(pair) for pair in star.pairs}
    assert not found.bad


def test_a_node_whose_network_is_bad_is_good_alone() -> None:
    """It is joined with others, so it is the node and not a link."""

    class BadNetwork(PlantedFaults, frozen=True):
        def is_bad(self, probe: frozenset[str]) -> bool:
            return len(probe) > 1 and bool(self.bad & probe)

    for node in names(9):
        faults = BadNetwork(names(9), frozenset([node]))
        assert isolated(faults).is_right(faults), node


def test_what_is_not_repeated_is_nobodys_fault() -> None:
    found = isolated(PlantedFaults(names(64)))
    assert found.is_right(PlantedFaults(names(64)))
    assert found.rounds <= 4


def test_a_program_that_always_fails_condemns_no_node() -> None:
    for count in (1, 2, 3, 8, 33):
        found = isolated(PlantedFaults(names(count), frozenset(names(count))))
        assert (found.bad, found.pairs, found.scale) == (frozenset(), frozenset(), 1)


def test_a_program_that_fails_on_several_nodes_condemns_none() -> None:
    for count in (4, 5, 32):
        found = isolated(PlantedFaults(names(count), scale=2))
        assert (found.bad, found.pairs, found.scale) == (frozenset(), frozenset(), 2)


def test_what_needs_four_nodes_is_probed_with_four() -> None:
    nodes = names(33)
    faults = PlantedFaults(nodes, frozenset({"n3", "n32"}), frozenset([("n8", "n20")]))
    isolation = Isolation(nodes, least=4)
    while isolation.round:
        assert all(len(probe) >= 4 for probe in isolation.round)
        isolation.tell([faults.is_bad(probe) for probe in isolation.round])
    assert {each.nodes for each in isolation.bad} == {("n3",), ("n32",), ("n8", "n20")}


def test_three_nodes_that_are_bad_only_together_are_not_explained() -> None:
    class Trio(PlantedFaults, frozen=True):
        def is_bad(self, probe: frozenset[str]) -> bool:
            return {"n1", "n4", "n6"} <= probe

    found = isolated(Trio(names(8)))
    assert found.is_unexplained
    assert not found.bad
    assert not found.pairs
    assert found.scale is None


def test_without_a_failure_of_all_only_the_sweep_is_done() -> None:
    faults = PlantedFaults(names(20), frozenset({"n7"}), frozenset([("n0", "n19")]))
    found = isolated(faults, whole_fails=False)
    assert found.bad == {"n7"}
    assert not found.pairs
    assert isolated(PlantedFaults(names(20)), whole_fails=False).rounds == 1


def test_one_fault_takes_no_more_rounds_than_the_bound() -> None:
    for count in (4, 8, 16, 64, 256, 1024):
        for kind in ({}, {"bad": 1}, {"pairs": 1}, {"scale": True}):
            for seed in range(8):
                faults = planted(random.Random(seed), count, **kind)
                found = isolated(faults)
                assert found.is_right(faults)
                assert found.rounds <= 2 * len(kind) * log2(count) + 4, (faults, found)


def test_a_pair_that_only_seemed_to_fail_is_dropped_when_others_fail() -> None:
    """Three wrong probes condemn n0 and n1; then the others fail by n2 and n5."""
    faults = PlantedFaults(names(8), pairs=frozenset([("n2", "n5")]))
    isolation = Isolation(faults.nodes)
    asked: list[frozenset[str]] = []
    while isolation.round:
        wrong = [probe == {"n0", "n1"} and asked.count(probe) < 3 for probe in isolation.round]
        asked += isolation.round
        outcomes = [faults.is_bad(probe) for probe in isolation.round]
        isolation.tell([bad or lie for bad, lie in zip(outcomes, wrong, strict=True)])
    assert {each.nodes for each in isolation.bad} == {("n2", "n5")}
    assert asked.count(frozenset({"n0", "n1"})) > 3


def test_flaky_probes_condemn_no_good_node() -> None:
    """1 % of the probes tell wrong; 400 isolations."""
    chance = random.Random(20261127)
    right = 0
    for _ in range(100):
        for bad, pairs, scale in ((0, 0, False), (2, 0, False), (1, 1, False), (0, 0, True)):
            faults = planted(chance, chance.choice([5, 8, 24, 64, 100]), bad, pairs, scale)
            found = isolated(faults, chance, FLAKY)
            assert not found.is_wrong(faults), (found, faults)
            assert found.rounds <= faults.most_rounds + 40 * found.lies
            right += found.is_right(faults)
    assert right >= 398
