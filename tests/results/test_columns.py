import math
import os
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from milabench_ddp.results.columns import SHORT, NumberColumn, Scratch, doubles

LARGE = 2**53 + 1
told = st.one_of(
    st.floats(),
    st.integers(-(2**53), 2**53),
    st.booleans(),
    st.none(),
    st.text(),
    st.just(10**400),
    st.just([1]),
)


@pytest.mark.parametrize(
    ("value", "double", "is_number"),
    [
        *((1.5, 1.5, True), (2, 2.0, True), (inf, inf, True), (nan, nan, True)),
        *((LARGE, 2.0**53, True), (10**400, nan, False), (UNSET, nan, True)),
        *((True, nan, False), (None, nan, False), ("5", nan, False), ({}, nan, False)),
    ],
)
def test_what_a_double_can_hold(value: Any, double: float, is_number: bool) -> None:
    for values in ([value], [0.5, value], [1, value]):
        numbers, odd = doubles(values)
        assert numbers[-1] == double or (math.isnan(numbers[-1]) and math.isnan(double))
        assert odd == ({} if is_number else {len(values) - 1: value})


def same(one: object, other: object) -> bool:
    return one == other or (isinstance(one, float) and isinstance(other, float) and one != one)


@given(st.lists(st.lists(told, max_size=5)), st.booleans())
def test_a_column_holds_what_was_told(parts: list[list[Any]], is_moved: bool) -> None:
    column = NumberColumn()
    for part in parts:
        column.extend(part)
    if is_moved:
        column.move_to(Scratch(), longest=0)
    values = [value for part in parts for value in part]
    assert len(column) == len(values)
    assert all(map(same, column, values))
    assert column.has_nan == any(isinstance(value, float) and value != value for value in values)


@pytest.mark.parametrize(("values", "shown"), [([3, 4], [3, 4]), ([3, 4.5], [3.0, 4.5])])
def test_whole_numbers_stay_whole_unless_others_are_not(
    values: list[float], shown: list[float]
) -> None:
    column = NumberColumn()
    for value in values:
        column.extend([value])
    found = [column[k] for k in range(len(values))]
    assert (found, list(map(type, found))) == (shown, list(map(type, shown)))
    assert column[-1] == shown[-1]


def filled(values: Any) -> NumberColumn:
    column = NumberColumn()
    column.add(np.array(values, float))
    return column


def test_long_columns_are_in_a_file_one_after_another() -> None:
    scratch = Scratch()
    numbers = np.arange(SHORT + 1.0)
    columns = [filled(numbers + k) for k in range(3)]
    for column in columns:
        column.move_to(scratch)
    for k, column in enumerate(columns):
        assert (column.values() == numbers + k).all()


def test_what_a_full_disk_does_not_take_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    column = filled(np.arange(SHORT + 1.0))
    monkeypatch.setattr(os, "pwrite", lambda fd, numbers, begin: 8)
    with pytest.raises(OSError, match="No space left"):
        column.move_to(Scratch())
    assert (column.values() == np.arange(SHORT + 1.0)).all()
