"""Tasks that ask for probes are put side by side in rounds of disjoint ones."""

import pytest

from milabench_ddp.plan.probes import Asks, side_by_side


def task(*probes: str) -> Asks[int]:
    bad = 0
    for nodes in probes:
        bad += yield frozenset(nodes)
    return bad


def test_disjoint_probes_are_in_one_round_and_others_wait() -> None:
    rounds = side_by_side([task("ab", "a"), task("bc"), task("de", "e", "e")])
    assert next(rounds) == [{"a", "b"}, {"d", "e"}]
    assert rounds.send([True, False]) == [{"a"}, {"b", "c"}, {"e"}]
    assert rounds.send([True, False, True]) == [{"e"}]
    with pytest.raises(StopIteration) as end:
        rounds.send([True])
    assert end.value.value == [2, 0, 2]


def test_no_task_is_no_round() -> None:
    assert list(side_by_side([])) == []
