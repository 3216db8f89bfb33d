"""Pauses at places that are given: whether they recur, and at which distance."""

import numpy as np
import pytest

from milabench_ddp.report.statistics.periodicity import Pauses, log_probability, recurrences


def pauses(at: "list[int] | np.ndarray", length: int) -> Pauses:
    return Pauses(np.unique(np.asarray(at, dtype=int)), length)


@pytest.mark.parametrize("period", [3, 7, 50, 300])
@pytest.mark.parametrize("first", [0, 2])
def test_the_distance_of_pauses_that_recur(period: int, first: int) -> None:
    (found,) = recurrences([pauses(np.arange(first, 1000, period), 1000)])
    assert (found.period, found.spread) == (period, 0)
    assert found.of[0].all()


def test_two_recurrences_in_pauses_by_chance() -> None:
    random = np.random.default_rng(3)
    at = [*range(11, 10000, 50), *range(4, 10000, 73), *random.integers(10000, size=60)]
    found = recurrences([pauses(at, 10000)])
    assert sorted(one.period for one in found) == [50, 73]
    assert all(170 * 50 / one.period < one.of[0].sum() < 230 * 50 / one.period for one in found)


def test_each_pause_may_follow_the_one_before_it() -> None:
    """As of a timer that begins anew behind each pause: it keeps no rhythm."""
    random = np.random.default_rng(2)
    at = np.cumsum(random.integers(49, 52, size=190))
    (found,) = recurrences([pauses(at, 10000)])
    assert (found.period, found.spread) == (50, 1)


def test_only_those_who_pause_are_members() -> None:
    random = np.random.default_rng(4)
    series = [pauses(random.integers(1000, size=20), 1000) for _ in range(6)]
    for k in (0, 5):
        series[k] = pauses([*series[k].at, *range(3 + k, 1000, 50)], 1000)
    (found,) = recurrences(series)
    assert sorted(found.of) == [0, 5]


def test_few_pauses_of_each_of_several_ranks() -> None:
    """Three pauses of a rank are no evidence; those of four ranks at equal distances are."""
    series = [pauses(range(9 * k, 160, 50), 160) for k in range(4)]
    assert recurrences(series[:1]) == []
    (found,) = recurrences(series)
    assert found.period == 50
    assert sorted(found.of) == [0, 1, 2, 3]


def test_what_all_ranks_see_is_no_more_sure() -> None:
    series = [pauses([10, 61, 112], 160)] * 64
    assert recurrences(series) == []
    late = [pauses([10 + k % 2, 61, 112 + k % 2], 160) for k in range(64)]
    assert recurrences(late) == []


@pytest.mark.parametrize("count", [0, 1, 2, 5, 20, 100])
def test_pauses_by_chance_do_not_recur(count: int) -> None:
    for seed in range(30):
        random = np.random.default_rng([seed, count])
        series = [pauses(random.integers(1000, size=count), 1000) for _ in range(2)]
        assert recurrences(series) == []


def test_pauses_in_bursts_do_not_recur() -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        at = [begin + random.integers(2, 300, 60) for begin in range(0, 9700, 700)]
        assert recurrences([pauses(np.concatenate(at), 10000)]) == []


def test_a_part_of_the_series_alone_is_no_recurrence() -> None:
    assert recurrences([pauses(range(0, 300, 10), 1000)]) == []
    assert recurrences([pauses(range(0, 900, 10), 1000)])[0].period == 10


def test_the_bound_is_above_the_probability() -> None:
    """Three of three, with a probability of 2 % each: 8e-6; and the tail of a binomial."""
    three = [np.array([value]) for value in (3.0, 3.0, 0.06)]
    assert float(np.exp(log_probability(*three)[0])) == pytest.approx(8e-6)
    draws = np.random.default_rng(1).binomial(50, 0.2, size=200_000)
    for pairs in (12, 15, 20):
        bound = log_probability(*[np.array([value]) for value in (float(pairs), 50.0, 10.0)])
        assert (draws >= pairs).mean() <= np.exp(float(bound[0]))
