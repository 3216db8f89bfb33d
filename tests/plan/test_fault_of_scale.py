"""Find the number of nodes from which every set fails; tell a failing pair from such a number."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.plan.fault_of_scale import fewest_that_fail
from milabench_ddp.plan.probes import Probe


def found(count: int, is_bad: Callable[[Probe], bool]) -> tuple[int | None, list[Probe]]:
    search = fewest_that_fail([f"n{number}" for number in range(count)], count)
    asked: list[Probe] = []
    outcomes = None
    while True:
        try:
            (probe,) = next(search) if outcomes is None else search.send(outcomes)
        except StopIteration as end:
            return end.value, asked
        assert len(asked) < 200
        asked.append(probe)
        outcomes = [is_bad(probe)]


@given(st.integers(3, 200), st.data())
@settings(deadline=None, max_examples=60)
def test_each_number_is_found_in_few_sets(count: int, data: st.DataObject) -> None:
    number = data.draw(st.integers((count + 1) // 2 + 1, count))
    told, asked = found(count, lambda probe: len(probe) >= number)
    assert told == number
    assert len(asked) <= count.bit_length() + 6


@pytest.mark.parametrize("count", [4, 5, 8, 9, 32, 100])
def test_two_nodes_that_fail_together_are_no_number(count: int) -> None:
    chance = random.Random(count)
    for _ in range(40):
        two = {f"n{node}" for node in chance.sample(range(count), 2)}
        told, _ = found(count, two.issubset)
        assert told is None, two


def test_what_never_fails_again_is_no_number() -> None:
    for count in (3, 4, 9, 64):
        assert found(count, lambda _: False)[0] is None


def test_one_wrong_outcome_does_not_change_the_number() -> None:
    for wrong in range(4):
        asked = iter(range(200))
        told, _ = found(40, lambda probe, a=asked, w=wrong: (len(probe) >= 33) != (next(a) == w))
        assert told == 33
