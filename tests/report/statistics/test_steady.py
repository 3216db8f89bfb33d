import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.statistics.steady import FEWEST, steady_state
from tests.support.rates import alternating, approaching, dwelling, falling, noisy, throttled


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("n", "ramp"), [(20, 1), (60, 1), (60, 6), (60, 25), (400, 40)])
def test_a_ramp_is_left_out_and_the_mean_recovered(
    n: int, ramp: int, correlation: float, seed: int
) -> None:
    rates = noisy(n, correlation, seed)
    for k in range(ramp):
        rates[k] *= 0.5 + 0.4 * k / ramp
    found = steady_state(rates)
    assert ramp <= found.start <= n // 2
    assert statistics.fmean(rates[found.start :]) == pytest.approx(100, abs=1.2)


def test_a_fast_start_is_left_out_too() -> None:
    """A device's clock is higher until the device is hot."""
    rates = [rate * (1.2 if k < 10 else 1) for k, rate in enumerate(noisy(80, 0.2, 3))]
    assert 10 <= steady_state(rates).start <= 14


@pytest.mark.parametrize("at", [5, 15, 29])
def test_a_pause_in_the_middle_is_no_start_up(at: int) -> None:
    rates = noisy(60, 0.0, 1)
    rates[at] *= 0.3
    assert steady_state(rates).start == 0


def test_steady_rates_are_mostly_kept() -> None:
    starts = [steady_state(noisy(60, 0.0, seed)).start for seed in range(40)]
    assert statistics.fmean(start > 0 for start in starts) < 0.1


SEEDS = range(40)


@pytest.mark.parametrize(("n", "correlation"), [(20, 0.0), (60, 0.0), (60, 0.5), (200, 0.5)])
def test_steady_rates_are_hardly_ever_said_to_move(n: int, correlation: float) -> None:
    found = [steady_state(noisy(n, correlation, seed)) for seed in SEEDS]
    assert sum(bool(each.problem) for each in found) <= 2


def test_two_levels_in_turn_are_a_steady_state() -> None:
    found = [steady_state(alternating(60, seed)) for seed in SEEDS]
    assert {(each.start, each.problem) for each in found} == {(0, "")}
    found = [steady_state(dwelling(200, seed)) for seed in SEEDS]
    assert sum(bool(each.problem) for each in found) <= 4


@pytest.mark.parametrize(
    ("rates", "how"),
    [([60.0 + k for k in range(60)], "rises"), ([120.0 - k for k in range(59)], "falls")],
)
def test_a_rate_that_goes_on_changing_is_no_steady_state(rates: list[float], how: str) -> None:
    found = steady_state(rates)
    assert found.start <= 30
    change = abs(rates[-1] / rates[found.start] - 1)
    assert found.change == pytest.approx(change if how == "rises" else -change, rel=0.02)
    assert found.problem.startswith(f"its rate still {how} by {abs(found.change):.1%}, from ")


def test_a_slow_fall_after_one_cold_step_is_told_in_figures() -> None:
    """As most processes of a long run on L40S: only the cold step is a start-up."""
    told = 0
    for seed in SEEDS:
        rates = falling(200, seed, 0.028)
        rates[0] *= 0.3
        found = steady_state(rates)
        told += "its rate still falls" in found.problem
        assert found.start <= 10
        assert found.change == pytest.approx(-0.028, abs=0.012)
        assert found.below == pytest.approx(0.014, abs=0.012)
    assert told >= 36


def test_a_clock_that_drops_near_the_end_is_told() -> None:
    found = [steady_state(throttled(60, seed)) for seed in SEEDS]
    assert sum("its rate still falls" in each.problem for each in found) >= 36
    for each in found:
        assert each.start <= 6
        assert each.below > 0.07


def test_a_start_up_that_takes_the_whole_run_is_told() -> None:
    found = [steady_state(approaching(60, seed, 0.2)) for seed in SEEDS]
    assert sum("its rate still rises" in each.problem for each in found) >= 34
    for each in found:
        assert each.start >= 15
        assert each.above > 0
    over = [steady_state(approaching(60, seed, 0.05)) for seed in SEEDS]
    assert sum(bool(each.problem) for each in over) <= 3


def test_a_start_up_that_takes_half_of_the_run_has_no_known_end() -> None:
    rates = [40.0 + 2 * k for k in range(25)] + noisy(35, 0.0, 3)
    assert steady_state(rates).problem == ""
    found = steady_state([40.0 + 2 * k for k in range(30)] + noisy(30, 0.0, 3))
    assert found.start == 30
    assert found.problem == (
        "the first 30 of its 60 rates, which are left out, are 30.8% slower than the rest"
    )
    assert found.below > 0.15  # the interval reaches to the mean of the run


def test_few_observations_are_kept() -> None:
    assert steady_state([1.0] + [100.0] * (FEWEST - 2)).start == 0
    assert steady_state([]).start == 0


def test_equal_rates_after_a_slow_one() -> None:
    assert steady_state([10.0] + [100.0] * 19).start == 1
    assert steady_state([100.0] * 20).start == 0


@given(st.lists(st.floats(1e-6, 1e6), max_size=80))
def test_at_most_half_is_left_out(rates: list[float]) -> None:
    assert 0 <= steady_state(rates).start <= len(rates) // 2


@given(st.lists(st.floats(1, 1000), min_size=8, max_size=60), st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_does_not_matter(rates: list[float], factor: float) -> None:
    assert steady_state([factor * rate for rate in rates]).start == steady_state(rates).start


@pytest.mark.parametrize("second", [84.0, 119.0])
def test_two_halves_at_two_levels_have_no_steady_state(second: float) -> None:
    """The second may be the steady state, or the two levels may go on in turn."""
    for seed in SEEDS:
        rates = noisy(30, 0.0, seed) + noisy(30, 0.0, seed + 100, second)
        found = steady_state(rates)
        assert "the first 30 of its 60 rates, which are left out, are 1" in found.problem
        mean = (100 + second) / 2
        reach = found.above if mean > second else found.below
        assert reach > abs(mean / second - 1) - 0.01
