import numpy as np
import pytest

from milabench_ddp.report.statistics.batch_means import mean_error, t_quantile
from tests.support.rates import noisy


def test_student_s_t_is_that_of_the_tables() -> None:
    known = {1: 12.706, 2: 4.303, 5: 2.571, 9: 2.262, 25: 2.060, 1000: 1.962, float("inf"): 1.960}
    for freedom, quantile in known.items():
        assert t_quantile(freedom) == pytest.approx(quantile, abs=0.001)


def test_of_two_values_it_is_the_textbook_s() -> None:
    error = mean_error(np.array([9.0, 11.0]))
    assert (error.sem, error.freedom) == (pytest.approx(1.0), 1)
    assert error.half_width == pytest.approx(12.706, abs=0.001)


def test_equal_values_are_certain() -> None:
    assert mean_error(np.full(50, 3.0)).half_width == 0.0


@pytest.mark.parametrize(("correlation", "factor"), [(0.0, 1.0), (0.5, 3**0.5), (0.9, 19**0.5)])
def test_the_error_grows_with_the_correlation(correlation: float, factor: float) -> None:
    """In theory by sqrt((1 + phi)/(1 - phi)); the caution for phi adds up to a half."""
    seen = [mean_error(np.array(noisy(2000, correlation, seed))).sem for seed in range(10)]
    assert factor < float(np.mean(seen)) * 2000**0.5 < 1.5 * factor


def test_strongly_correlated_values_are_worth_three() -> None:
    error = mean_error(np.array([float(k) for k in range(40)]))
    assert error.freedom == pytest.approx(2)


def test_the_unit_does_not_matter() -> None:
    values = np.array(noisy(60, 0.5, 1))
    assert mean_error(1024 * values).sem == pytest.approx(1024 * mean_error(values).sem)


def test_a_fit_takes_away_from_the_deviations() -> None:
    values = np.array(noisy(30, 0.0, 1))
    assert mean_error(values, 3).sem > mean_error(values).sem
