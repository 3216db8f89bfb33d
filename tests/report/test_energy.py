"""For what the energy is, by the unit of the rate."""

import pytest

from milabench_ddp.report.energy import unit_of_work
from milabench_ddp.report.model import Row


@pytest.mark.parametrize(
    ("unit", "work"),
    [
        ("tokens/s", "token"),
        ("images/s", "image"),
        ("TFLOP/s", "TFLOP"),
        ("GB/s", "GB"),
        ("", "unit"),
    ],
)
def test_a_unit_of_work(unit: str, work: str) -> None:
    row = Row("b", 0, 1, 1, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, unit=unit)
    assert unit_of_work(row) == work
