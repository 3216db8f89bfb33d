"""The mean power by both sensors, of readings that are known."""

import pytest

from milabench_ddp.report.statistics.mean_power import by_counter, by_power

TIMES = [0.4 + k for k in range(10)]


def counted(watts: float = 300.0) -> list[tuple[float, float]]:
    """A counter that moves every 100 ms."""
    return [(time, watts * int(time * 10) / 10) for time in TIMES]


def test_a_steady_power_is_off_by_a_tick_at_most() -> None:
    found = by_counter(counted(), 0.0, 10.0)
    assert found is not None
    assert found.watts == pytest.approx(300.0)
    assert 0.005 < found.error / found.watts < 0.1 / 9  # of nine seconds


def test_only_what_is_within_the_window_counts() -> None:
    before, after = [(-1.0, -5000.0)], [(11.0, 90_000.0)]
    assert by_counter([*before, *counted(), *after], 0.0, 10.0) == by_counter(counted(), 0.0, 10.0)
    samples = [(time, 300.0) for time in TIMES]
    more = [(-1.0, 50.0), *samples, (11.0, 50.0)]
    assert by_power(more, 0.0, 10.0) == by_power(samples, 0.0, 10.0)


def test_what_the_readings_do_not_reach_may_be_as_far_off_as_they_are_apart() -> None:
    steady = by_counter(counted(), 0.0, 10.0)
    uneven = [(time, joules + 100 * (k % 2)) for k, (time, joules) in enumerate(counted())]
    found = by_counter(uneven, 0.0, 10.0)
    assert steady is not None
    assert found is not None
    assert found.error > 2 * steady.error


@pytest.mark.parametrize(
    ("readings", "end"),
    [
        (counted(), 4.9),  # ten ticks are no tenth of less than 5 s
        (counted()[:2], 10.0),
        (counted()[:4], 10.0),  # the device was lost
        ([*counted()[:5], (6.0, 1.0)], 10.0),  # its driver was loaded anew
        ([(time, 7.0) for time in TIMES], 10.0),  # it does not count
        ([], 10.0),
    ],
)
def test_a_counter_that_does_not_tell(readings: list[tuple[float, float]], end: float) -> None:
    assert by_counter(readings, 0.0, end) is None


def test_samples_stand_for_the_time_that_is_nearest_to_them() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    found = by_power([(time, 100.0 if time < 8 else 500.0) for time in times], 0.0, 10.0)
    assert found is not None
    assert found.watts == pytest.approx(0.7 * 100 + 0.3 * 500)
    assert found.error > 100


@pytest.mark.parametrize(("seconds", "end"), [(range(9), 4.9), (range(7), 7.0), (range(8), 20.0)])
def test_samples_that_do_not_tell(seconds: range, end: float) -> None:
    assert by_power([(float(second), 300.0) for second in seconds], 0.0, end) is None
