"""Verdicts on ratios whose truth is known."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.report.comparison.launch_noise import Variance
from milabench_ddp.report.comparison.ratios import Ratio
from milabench_ddp.report.comparison.verdicts import (
    FALSE,
    Judged,
    RatioVerdict,
    adjusted,
    judge,
)

SLOWER, FASTER, SAME, CANNOT_TELL = list(RatioVerdict)[:4]
OPPOSITE = {SLOWER: FASTER, FASTER: SLOWER, SAME: SAME, CANNOT_TELL: CANNOT_TELL}


def ratio(value: float, std: float = 0.01, launches: int = 5, freedom: float = 8) -> Ratio:
    return Ratio(math.log(value), math.nan, math.nan, (launches,) * 2, Variance(std**2, freedom))


def verdict(value: float, threshold: float = 0.0, **more: float) -> RatioVerdict:
    return judge([ratio(value, **more)], threshold, threshold or 0.03)[0].verdict


@pytest.mark.parametrize(
    ("value", "without", "of_3_percent"),
    [
        (0.90, SLOWER, SLOWER),
        (0.96, SLOWER, CANNOT_TELL),  # slower for sure, but perhaps by less than 3 %
        (0.985, SLOWER, SAME),
        (0.997, SAME, SAME),
        (1.0, SAME, SAME),
        (1 / 0.985, FASTER, SAME),
        (1 / 0.96, FASTER, CANNOT_TELL),
        (1 / 0.90, FASTER, FASTER),
    ],
)
def test_a_threshold_says_what_a_change_is(
    value: float, without: RatioVerdict, of_3_percent: RatioVerdict
) -> None:
    """Launches that differ by 1 %, five on each side: an interval of 1.5 %."""
    assert verdict(value) is without
    assert verdict(value, 0.03) is of_3_percent


def test_what_varies_much_cannot_be_told() -> None:
    assert verdict(0.96, std=0.05) is CANNOT_TELL
    assert verdict(1.0, std=0.05) is CANNOT_TELL
    assert verdict(0.8, std=0.05) is SLOWER


def test_single_launches_have_no_verdict_however_far_they_are_apart() -> None:
    single = Ratio(math.log(0.5), 0.01, 0.01)
    assert judge([single, ratio(0.9)], 0.0, 0.03)[0] == Judged(CANNOT_TELL)
    assert judge([single, ratio(0.9)], 0.0, 0.03)[1].verdict is SLOWER


def test_the_more_benchmarks_the_surer_a_change_must_be() -> None:
    seen = ratio(0.982)  # a p-value of 0.02
    assert judge([seen], 0.0, 0.03)[0].verdict is SLOWER
    many = judge([seen, *[ratio(1.0)] * 29], 0.0, 0.03)
    assert many[0].verdict is SAME
    # but 30 such changes are not all by chance
    assert {each.verdict for each in judge([seen] * 30, 0.0, 0.03)} == {SLOWER}


def test_adjusted_p_values() -> None:
    """The example of Benjamini and Hochberg (1995), of 15 tests."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    p_values += [0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    found = adjusted(p_values[::-1])[::-1]
    assert [p <= FALSE for p in found] == [True] * 4 + [False] * 11
    assert found[0] == pytest.approx(0.0015)
    assert found[3] == pytest.approx(0.0095 * 15 / 4)
    assert adjusted([]) == []
    assert adjusted([0.3]) == [0.3]


def test_a_change_as_large_as_could_have_been_seen_is_seen() -> None:
    seen = judge([ratio(1.0)] * 30, 0.0, 0.03)[0].could_have_seen
    assert seen is not None
    assert judge([ratio(1 - seen), *[ratio(1.0)] * 29], 0.0, 0.03)[0].verdict is SLOWER
    by_more = judge([ratio(1.0)] * 30, 0.03, 0.03)[0].could_have_seen
    assert by_more == pytest.approx(1 - 0.97 * (1 - seen))


def test_as_many_launches_as_needed_could_have_seen_the_margin() -> None:
    sure = 10**7  # degrees of freedom: the noise is known
    wide = judge([ratio(1.0, std=0.03, freedom=sure)], 0.0, 0.03)[0]
    assert wide.needed is not None
    for launches, can in ((wide.needed, True), (wide.needed - 1, False)):
        noise = {"std": 0.03, "launches": launches, "freedom": sure}
        seen = judge([ratio(1.0, **noise)], 0.0, 0.03)[0].could_have_seen
        assert seen is not None
        assert (seen <= 0.03) is can
    assert judge([ratio(1.0, std=0.5)], 0.0, 0.03)[0].needed is None


VALUES = st.lists(
    st.tuples(st.floats(0.5, 2.0), st.floats(0.0, 0.1), st.integers(1, 20)), min_size=1, max_size=8
)


@given(VALUES, st.sampled_from([0.0, 0.01, 0.1]))
def test_swapping_both_sides_inverts_the_verdict(
    planted: list[tuple[float, float, int]], threshold: float
) -> None:
    there = [ratio(value, std, freedom=freedom) for value, std, freedom in planted]
    back = [ratio(1 / value, std, freedom=freedom) for value, std, freedom in planted]
    said = [each.verdict for each in judge(there, threshold, 0.03)]
    assert [OPPOSITE[each] for each in said] == [
        each.verdict for each in judge(back, threshold, 0.03)
    ]


@given(VALUES)
def test_equal_rates_are_never_slower_or_faster(planted: list[tuple[float, float, int]]) -> None:
    equal = [ratio(1.0, std, freedom=freedom) for _, std, freedom in planted]
    assert {each.verdict for each in judge(equal, 0.0, 0.03)} <= {SAME, CANNOT_TELL}


@given(VALUES, st.sampled_from([0.01, 0.1]))
def test_what_is_beyond_a_threshold_has_changed(
    planted: list[tuple[float, float, int]], threshold: float
) -> None:
    each = [ratio(value, std, freedom=freedom) for value, std, freedom in planted]
    beyond, any_change = judge(each, threshold, 0.03), judge(each, 0.0, 0.03)
    for strict, loose in zip(beyond, any_change, strict=True):
        if strict.verdict in (SLOWER, FASTER):
            assert loose.verdict is strict.verdict


@pytest.mark.parametrize(
    ("launches", "has_history", "told"),
    [
        ((2, 10), False, False),
        ((5, 1), False, False),
        ((3, 3), False, True),
        ((1, 1), True, True),
    ],
)
def test_few_launches_without_a_history_have_no_verdict(
    launches: tuple[int, int], has_history: bool, told: bool
) -> None:
    far = replace(ratio(0.5, freedom=10), launches=launches, has_history=has_history)
    assert (judge([far], 0.0, 0.03)[0].verdict is SLOWER) is told


def test_another_pair_tells_of_one_more_difference() -> None:
    """And two more launches, of no pair, of two: so pairs need a few more of them."""
    found = []
    for std, is_paired in ((0.02, False), (0.02 * math.sqrt(2), True)):
        noise = Variance(std**2, 2)
        ratio = Ratio(-0.017, math.nan, math.nan, (3, 3), noise, is_paired=is_paired)
        assert ratio.sem == pytest.approx(0.02 * math.sqrt(2 / 3))
        found.append(judge([ratio], 0.0, 0.03)[0])
    apart, paired = found
    assert paired.could_have_seen == apart.could_have_seen
    assert apart.needed is not None
    assert paired.needed is not None
    assert apart.needed < paired.needed < apart.needed + 4
