import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.results.rank import Rank

TIMES = st.lists(st.floats(0, 1e9), max_size=8)


@given(st.lists(st.tuples(TIMES, TIMES), max_size=4))
def test_chunks_are_joined(chunks: list[tuple[list[float], list[float]]]) -> None:
    rank = Rank()
    assert all(rank.take(ms, wait_ms) for ms, wait_ms in chunks)
    assert rank.ms == array("d", [value for ms, _ in chunks for value in ms])
    assert rank.waited == pytest.approx(sum(sum(wait_ms) for _, wait_ms in chunks))


@pytest.mark.parametrize("bad", [None, "fast", -1.0, math.nan, math.inf, 1e101, [1.0], 10**400])
def test_what_is_no_time_takes_nothing(bad: object) -> None:
    rank = Rank()
    assert rank.take([1.0], [0.5])
    assert not rank.take([2.0, bad], [0.0, 0.0])  # type: ignore[list-item]
    assert (list(rank.ms), rank.waited) == ([1.0], 0.5)


def test_waits_that_are_none_take_nothing() -> None:
    rank = Rank()
    assert not rank.take([2.0], [None])  # type: ignore[list-item]
    assert list(rank.ms) == []
