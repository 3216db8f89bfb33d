"""When a mean is no number: planted rates on both sides of each bound."""

import math
import random
from collections.abc import Callable

import pytest

from milabench_ddp.report.statistics.interval import Series, why_no_mean
from milabench_ddp.report.statistics.steady import steady_state
from tests.support.rates import approaching, dwelling, falling, noisy, throttled


def kept(rates: list[float]) -> Series:
    """The steady part of a series whose observations are all for the same work."""
    found = steady_state(rates)
    rest = rates[found.start :]
    return Series(rest, [1 / rate for rate in rest], found)


def stepped(to: float) -> list[float]:
    """A level of 100 that changes to another for the last third."""
    return noisy(40, 0.0, 1) + noisy(20, 0.0, 2, to)


def counted_anew(n: int) -> list[float]:
    """What a program tells that counts all of its work until now as that of each step."""
    draw = random.Random(n)
    return [19.0, *(1e6 * k * draw.uniform(0.95, 1.05) for k in range(1, n))]


@pytest.mark.parametrize("to", [45.0, 220.0])
def test_a_rate_that_doubles_or_halves_has_no_level(to: float) -> None:
    assert why_no_mean([[kept(stepped(to))]]).startswith("no steady state: its rate still")


@pytest.mark.parametrize("to", [55.0, 180.0])
def test_one_that_changes_by_less_has_a_mean(to: float) -> None:
    series = kept(stepped(to))
    assert "its rate still" in series.found.problem
    assert why_no_mean([[series]]) == ""


@pytest.mark.parametrize("n", [20, 65, 200])
@pytest.mark.parametrize("seconds", ["of the same work", "equal"])
def test_work_that_is_counted_again_in_each_step(n: int, seconds: str) -> None:
    """As in recorded runs of milabench's dqn and ppo, also where a fitted line begins below 0."""
    series = kept(counted_anew(n))
    if seconds == "equal":
        series = Series(series.rates, [1.0] * len(series.rates), series.found)
    why = why_no_mean([[series]])
    assert why.startswith("no steady state: its rate still rises from ")
    assert "%" not in why


def test_a_rate_that_grows_by_powers() -> None:
    assert why_no_mean([[kept([14 * 1.4**k for k in range(65)])]])


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e9])
def test_the_unit_does_not_matter(factor: float) -> None:
    for rates, is_number in ((counted_anew(65), False), (noisy(65, 0.5, 3), True)):
        series = kept([factor * rate for rate in rates])
        assert (why_no_mean([[series]]) == "") is is_number


def test_rates_that_scatter_over_everything() -> None:
    """Times that are taken before an asynchronous device has done anything."""
    draw = random.Random(1)
    rates = [10 ** draw.uniform(2, 10) for _ in range(65)]
    why = why_no_mean([[Series(rates, [1.0] * 65)], [Series(rates, [1.0] * 65)]])
    assert why.startswith("too unsure: 9 of 10 of its rates are between ")


@pytest.mark.parametrize("make", [
    lambda seed: noisy(60, 0.9, seed),
    lambda seed: falling(60, seed, 0.3),
    lambda seed: throttled(60, seed, 0.3),
    lambda seed: approaching(60, seed, 0.1, 0.05),
    lambda seed: dwelling(60, seed, 0.4),
    lambda seed: [100.0] * 8,
    lambda seed: [1.0, 100.0, 40.0],
])  # fmt: skip
def test_what_is_merely_unsure_stays_a_number(make: Callable[[int], list[float]]) -> None:
    for seed in range(20):
        assert why_no_mean([[kept(make(seed))]]) == "", seed


@pytest.mark.parametrize(("means", "is_number"), [
    ((100.0, 120.0), True),  # Student's t of two launches is 13: ±127 %
    ((100.0, 290.0), True),
    ((100.0, 310.0), False),
    ((100.0, 110.0, 90.0, 1000.0), False),
    ((100.0, 110.0, 90.0, 105.0, 160.0), True),
])  # fmt: skip
def test_launches(means: tuple[float, ...], is_number: bool) -> None:
    """The bound of two is a factor of 3: there half their distance is half their mean."""
    launches = [[Series([mean] * 60, [1.0] * 60)] for mean in means]
    assert (why_no_mean(launches) == "") is is_number


def test_one_of_several_processes_is_enough() -> None:
    good, bad = kept(noisy(65, 0.0, 1)), kept(counted_anew(65))
    assert why_no_mean([[good, bad], [good, good]]) == bad.why_no_mean


def test_no_rate_and_a_rate_of_nothing() -> None:
    assert why_no_mean([]) == ""
    assert why_no_mean([[Series([0.0] * 60, [1.0] * 60)]]) == ""
    assert math.isclose(kept(noisy(60, 0.0, 1)).mean, 100, rel_tol=0.01)
