"""The energy of made-up courses of power, through the stub of NVML and the real pynvml."""

import pytest

from tests.studies.planted_energy import Course, measure, stub_of_nvml


def test_the_truth_is_within_the_error_in_95_of_100() -> None:
    with stub_of_nvml() as read:
        found = measure(200, 1, read)
    for sensor in ("counter", "power of 1000 ms"):
        held = found[sensor].held
        assert sum(held) >= 0.95 * len(held) > 50, sensor
    # an A100's samples see a quarter of the time, and no error tells what lies between them
    held = found["power of 25 ms"].held
    assert sum(held) >= 0.9 * len(held) > 50
    assert max(found["counter"].errors) < 0.1  # and it is near


def test_the_integral_of_a_course() -> None:
    course = Course(100.0, 300.0, 400.0, 25, 2.0)
    assert course.joules(0.1) == pytest.approx(30.0 + 0.01)
    assert course.joules(4.0) == pytest.approx(4 * 150.0 + 16.0)
