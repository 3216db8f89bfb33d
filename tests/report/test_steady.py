import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.steady import FEWEST, steady_state
from tests.support.rates import noisy


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
    assert found.problem == ""
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


def test_a_rate_that_goes_on_changing_is_no_steady_state() -> None:
    rates = [50.0 + k for k in range(60)]
    found = steady_state(rates)
    assert found.problem.startswith("no steady state: it still rises, from ")
    assert found.start <= 30
    assert "it still falls" in steady_state(rates[::-1]).problem


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
