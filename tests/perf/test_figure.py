"""Figures: their relation to the floor, goals and growth."""

import math

import pytest

from perf.figure import Figure, Goal, quartiles, with_growth


def figure(*measured: float, floor: tuple[float, ...] = (1.0,), **changes: object) -> Figure:
    return Figure("f", "ms", measured, floor, "nothing", **changes)


def test_each_round_is_compared_with_the_floor_of_that_round() -> None:
    drifting = figure(2.0, 4.0, 8.0, floor=(1.0, 2.0, 4.0))
    assert drifting.relative == (2.0, 2.0, 2.0)
    more = figure(2.0, 4.0, 8.0, floor=(1.0, 2.0, 4.0), relation="difference")
    assert more.relative == (1.0, 2.0, 4.0)


def test_one_floor_is_that_of_all_rounds() -> None:
    assert figure(2.0, 4.0, floor=(2.0,)).relative == (1.0, 2.0)


def test_a_floor_of_nothing_has_no_ratio() -> None:
    assert math.isnan(figure(2.0, floor=(0.0,)).relative[0])


@pytest.mark.parametrize(
    ("goal", "missed"),
    [
        (Goal(1.5), True),
        (Goal(2.0), False),
        (Goal(2.0, at_least=True), False),
        (Goal(2.1, at_least=True), True),
        (Goal(10.0, of_measured=True), False),
        (Goal(9.9, of_measured=True), True),
        (None, False),
    ],
)
def test_goals_are_of_the_relation_or_of_what_was_measured(goal: Goal, missed: bool) -> None:
    assert figure(10.0, floor=(5.0,), goal=goal).misses is missed


def test_growth_is_between_the_two_largest_sizes() -> None:
    sizes = (1, 10, 100)
    square = with_growth([figure(5.0), figure(100.0), figure(10_000.0)], sizes)
    assert [each.growth is None for each in square] == [True, True, False]
    assert square[-1].growth.exponent == pytest.approx(2.0)
    assert square[-1].growth.each == pytest.approx(110.0)
    constant = with_growth([figure(3.0), figure(3.0)], (1, 10))
    assert constant[-1].growth.exponent == 0.0
    assert math.isnan(with_growth([figure(0.0), figure(3.0)], (1, 10))[-1].growth.exponent)


def test_one_size_has_no_growth() -> None:
    assert with_growth([figure(3.0)], (1,)) == [figure(3.0)]


def test_quartiles() -> None:
    assert quartiles([3.0]) == (3.0, 3.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 4.0)
