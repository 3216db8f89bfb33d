"""Ratios and their intervals, of launches and within them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.report.comparison.ratios import Pair, ratios
from milabench_ddp.report.statistics.interval import interval
from tests.support.compared_runs import pair, series

MEANS = st.lists(st.floats(1.0, 1000.0), min_size=1, max_size=4)


def test_the_ratio_is_of_the_means_over_launches() -> None:
    (ratio,) = ratios([pair([100, 102, 98], [90, 92, 88])])
    assert ratio.value == pytest.approx(0.9)
    # by hand: variances of 4e-4 and 4.938e-4, four degrees of freedom, t = 2.776
    std = math.sqrt((2 * 4e-4 + 2 * (2 / 90) ** 2) / 4)
    assert ratio.noise.std == pytest.approx(std)
    half = 2.7764 * std * math.sqrt(2 / 3)
    assert ratio.interval == pytest.approx((0.9 * math.exp(-half), 0.9 * math.exp(half)), rel=1e-4)


def test_steps_within_launches_do_not_make_the_interval_narrower() -> None:
    few, many = (ratios([pair([100, 102], [99, 97], count=count)])[0] for count in (20, 200))
    assert few.interval == pytest.approx(many.interval)


def test_a_single_launch_on_each_side_has_an_interval_of_its_steps() -> None:
    planted = pair([100], [95])
    (ratio,) = ratios([planted])
    assert not ratio.is_repeated
    assert ratio.interval is not None
    before, after = interval(planted.before), interval(planted.after)
    assert before is not None
    assert after is not None
    widths = (after.high - after.low) / 2 / 95, (before.high - before.low) / 2 / 100
    low, high = ratio.interval
    assert (high - low) / 2 / 0.95 == pytest.approx(math.hypot(*widths), rel=0.05)


def test_short_single_launches_have_none() -> None:
    (ratio,) = ratios([pair([100], [95], count=20)])
    assert ratio.value == pytest.approx(0.95)
    assert ratio.interval is None


def test_a_history_tells_how_much_single_launches_differ() -> None:
    (ratio,) = ratios([pair([100], [95], [100, 102, 98], [50, 51, 49])])
    assert ratio.noise.freedom == 4
    assert ratio.noise.std == pytest.approx(0.02)
    assert ratio.sem == pytest.approx(0.02 * math.sqrt(2))


def test_a_launch_counts_by_its_processes() -> None:
    whole = [series(100.0, 1), series(104.0, 2)]
    planted = Pair([whole, [series(100.0, 3)]], [whole, whole])
    (ratio,) = ratios([planted])
    assert ratio.value == pytest.approx(102 / (304 / 3))


def test_few_launches_that_vary_much_are_not_hidden_by_many_that_do_not() -> None:
    before = [100.0 + 0.1 * (-1) ** k for k in range(10)]
    (ratio,) = ratios([pair(before, [98.0, 100.0, 102.0])])
    # by hand: variances of 1.11e-6 and 4e-4, over 10 and 3 launches
    assert ratio.sem == pytest.approx(math.sqrt(1.111e-6 / 10 + 4e-4 / 3), rel=1e-3)
    assert ratio.noise.freedom == pytest.approx(2, abs=0.01)
    (even,) = ratios([pair(before[:3], [98.0, 100.0, 102.0])])
    assert even.noise.freedom == 4
    # the variance of a single launch is that of the other side
    (single,) = ratios([pair(before, [100.0])])
    assert single.noise.freedom == 9


def test_launches_made_until_the_interval_was_narrow_give_none_that_is_narrower() -> None:
    made = pair([100.0, 100.1, 99.9], [100.0, 100.1, 99.9])
    (ratio,) = ratios([replace(made, until=math.hypot(0.01, 0.01))])
    assert ratio.interval is not None
    assert math.log(ratio.interval[1]) == pytest.approx(math.hypot(0.01, 0.01))


@given(MEANS, MEANS, MEANS)
def test_swapping_both_sides_inverts_ratio_and_interval(
    first: list[float], second: list[float], third: list[float]
) -> None:
    there, back = ratios([pair(first, second, third)])[0], ratios([pair(second, first, third)])[0]
    assert there.value * back.value == pytest.approx(1)
    assert there.interval is not None
    low, high = there.interval
    assert back.interval == pytest.approx((1 / high, 1 / low))


def test_pairs_tell_of_their_differences_alone() -> None:
    """Launches that drift by 10 % are alike in pairs; by hand: differences of 1, -1, 0 %."""
    drifting = [100.0, 105.0, 95.0]
    after = [rate * (1 + off) for rate, off in zip(drifting, (0.01, -0.01, 0.0), strict=True)]
    planted = pair(drifting, after)
    (paired,) = ratios([replace(planted, is_paired=True)])
    (apart,) = ratios([planted])
    differences = [1.0, -1.05, 0.0]
    middle = math.fsum(differences) / 3
    squares = math.fsum((each - middle) ** 2 for each in differences)
    assert paired.noise.std == pytest.approx(math.sqrt(squares / 2) / 100, rel=0.01)
    assert paired.noise.freedom == 2
    assert paired.sem == pytest.approx(paired.noise.std / math.sqrt(3))
    assert paired.sem < apart.sem / 4
    assert paired.value == apart.value


def test_one_pair_is_two_single_launches() -> None:
    planted = pair([100], [95])
    assert ratios([replace(planted, is_paired=True)])[0].is_repeated is False
