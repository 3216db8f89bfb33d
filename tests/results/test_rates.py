from collections.abc import Mapping
from math import inf, nan
from typing import Any

import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.events import NO_RATE, NO_USABLE_RATE
from milabench_ddp.results.rates import RateCounts, is_warmup, why_nothing_measured

GOOD = {"task": "train", "rate": 5.0, "units": "items/s"}


def counted(*payloads: Mapping[str, Any], own_rank: int | None = None) -> RateCounts:
    counts = RateCounts()
    for payload in payloads:
        counts.add(payload, own_rank)
    return counts


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((1, True), (0, False), (1e99, True), (1e101, False), (10**400, False), (-1.0, False)),
        *((1e-101, False), (nan, False), (inf, False), (True, False), ("1", False), (None, False)),
    ],
)
def test_which_numbers_can_be_rates(value: object, expected: bool) -> None:
    told = counted({**GOOD, "rate": value})
    assert (told.usable, told.unusable) == (expected, not expected)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (GOOD, ""),
        ({"train_rate": 5.0}, ""),
        ({"loss": 1.0}, NO_RATE),
        ({"rate": 5.0}, f'{NO_USABLE_RATE}: 2 without "task": "train"'),
        ({"task": "eval", "rate": 5.0}, f"{NO_USABLE_RATE}: 2 of other tasks than `train`"),
        ({**GOOD, "task": None}, f"{NO_USABLE_RATE}: 2 of other tasks than `train`"),
        ({**GOOD, "warmup": True}, f"{NO_USABLE_RATE}: 2 of the warm-up"),
        ({**GOOD, "warmup": 1}, f"{NO_USABLE_RATE}: 2 of the warm-up"),
    ],
)
def test_lines_that_measure_nothing(payload: Mapping[str, Any], why: str) -> None:
    assert why_nothing_measured([counted(payload, payload)]) == why


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        *((-5.0, "-5.0"), (0, "0"), (nan, "nan"), (inf, "inf"), (1e300, "1e+300"), ("812", "812")),
        *((True, "True"), (None, "None"), ([5.0], "[5.0]"), ("", "empty"), ("x" * 99, "x" * 20)),
    ],
)
def test_values_that_are_no_rates(rate: object, shown: str) -> None:
    counts = counted({**GOOD, "rate": rate}, {**GOOD, "rate": -1})
    flaws = f"2 not usable (the first is {shown})"
    assert counts.flaws == flaws
    assert why_nothing_measured([counts]) == f"{NO_USABLE_RATE}: {flaws}"
    assert why_nothing_measured([counts, counted(GOOD)]) == ""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        *((True, True), (1, True), (1.0, True), ("true", True), ("True ", True), ("1", True)),
        *((False, False), (0, False), (None, False), ("false", False), ("0", False), ("", False)),
    ],
)
def test_ways_to_say_that_a_line_is_of_the_warm_up(said: object, expected: bool) -> None:
    assert is_warmup(said) is expected


def test_a_good_rate_among_bad_ones_is_a_measurement() -> None:
    counts = counted({**GOOD, "rate": nan}, GOOD, {"rate": 1.0}, {"task": "eval", "rate": 2.0})
    assert why_nothing_measured([counts]) == ""
    assert (counts.usable, counts.unusable, counts.untasked, counts.other_task) == (1, 1, 1, 1)


def test_several_units_have_no_mean() -> None:
    other = {**GOOD, "units": "tokens/s"}
    why = "its rates have several units, so they have no mean: items/s, tokens/s"
    assert why_nothing_measured([counted(GOOD, other)]) == why
    assert why_nothing_measured([counted(GOOD), counted(other)]) == why
    many = counted(*[{**GOOD, "units": f"u{k}/s"} for k in range(9)])
    assert why_nothing_measured([many]).endswith(": u0/s, u1/s, u2/s, u3/s, u4/s and 4 more")
    unnamed = {"task": "train", "rate": 5.0}
    assert why_nothing_measured([counted(GOOD, unnamed, {**unnamed, "units": ""})]) == ""


CANNOT = "can be neither summed nor averaged"


def test_rates_of_several_ranks_must_tell_them() -> None:
    of_0, of_1 = {**GOOD, "rank": 0}, {**GOOD, "rank": 1}
    assert why_nothing_measured([counted(of_0, of_1)]) == ""
    assert why_nothing_measured([counted(of_0), counted(of_1)]) == ""
    assert why_nothing_measured([counted(GOOD), counted()]) == ""
    assert why_nothing_measured([counted(of_0, GOOD)]) == ""  # nothing shows another rank
    assert CANNOT in why_nothing_measured([counted(of_1, GOOD)])
    assert CANNOT in why_nothing_measured([counted(GOOD), counted(GOOD)])
    # as a program tells it that takes it from its environment
    first, last = {**GOOD, "rank": "0"}, {**GOOD, "rank": "1"}
    assert CANNOT in why_nothing_measured([counted(first, last)])
    assert CANNOT in why_nothing_measured([counted(of_0, last)])
    assert why_nothing_measured([counted(first, first)]) == ""
    assert why_nothing_measured([counted(first, own_rank=0)]) == ""
    # a process that is a rank itself need not tell it
    assert why_nothing_measured([counted(GOOD, own_rank=k) for k in range(2)]) == ""


def test_ranks_that_share_the_channel_must_tell_themselves() -> None:
    several = counted(GOOD)
    several.see_writers({0, 1}, 2)
    why = why_nothing_measured([several])
    assert why.startswith("2 of its ranks had the file of $MILABENCH_METRICS open, and 1 line")
    told = counted({**GOOD, "rank": 0})
    told.see_writers({0, 1}, 2)
    assert why_nothing_measured([told]) == ""
    alone = counted(GOOD)
    alone.see_writers({0}, 1)
    assert (why_nothing_measured([alone]), alone.reopened) == ("", False)


def test_a_channel_that_is_opened_for_each_line_hides_its_writers() -> None:
    counts = counted(GOOD, GOOD, GOOD)
    counts.see_writers({0}, 9)
    assert not counts.reopened
    counts.see_writers({0}, 10)
    assert (why_nothing_measured([counts]), counts.reopened) == ("", True)


@pytest.mark.parametrize("rank", [True, -1, 1.0, "1", None, [1]])
def test_what_is_no_rank(rank: object) -> None:
    assert counted({**GOOD, "rank": rank}).unranked == 1


def test_counts_travel_between_nodes() -> None:
    counts = counted(GOOD, {**GOOD, "rank": 3}, {**GOOD, "rate": nan})
    assert decode(encode(counts), RateCounts) == counts
