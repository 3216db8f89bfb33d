"""Findings about rates, as a report shows them."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.result_files import config, end, job, line, rate, rates, start, write


def test_rates_that_are_left_out_beside_others(tmp_path: Path) -> None:
    bad = rate(float("nan")), rate(-1.0), line("data", {"rate": 7.0}, "data")
    write(tmp_path, "b.D0", config("b"), start(), rates([5.0] * 3), *bad, end(0, outcome="ok"))
    assert (
        'b.D0: 3 of 6 rates left out: 2 not usable (the first is nan); 1 without "task": "train"'
    ) in report_of([tmp_path]).warnings


def test_rates_of_unknown_writers(tmp_path: Path) -> None:
    opened = line("writers", {"ranks": [], "opened": 30}, "data")
    write(tmp_path, "b.0", job("b"), start(), rates([5.0] * 30), opened, end(0, outcome="ok"))
    report = report_of([tmp_path])
    assert any("if several ranks wrote them" in text for text in report.warnings)
    (tmp_path / "b.0.data").unlink()
    several = line("writers", {"ranks": [0, 1], "opened": 2}, "data")
    write(tmp_path, "b.0", job("b"), start(), rates([5.0] * 30), several, end(0))
    (failure,) = report_of([tmp_path]).failures
    assert failure.reason.startswith("2 of its ranks had the file of $MILABENCH_METRICS open")


@pytest.mark.parametrize("odd", [0, 3])
def test_rates_in_several_units_have_no_mean(tmp_path: Path, odd: int) -> None:
    for device in range(4):
        unit = "tokens/s" if device == odd else "items/s"
        settings = config("b", device=device, tag=["b", f"D{device}"])
        values = rates([1000.0 if device == odd else 100.0] * 30, units=unit)
        write(tmp_path, f"b.D{device}", settings, start(), values, end())
    made = report_of([tmp_path])
    (row,) = made.rows
    assert math.isnan(row.perf)
    assert math.isnan(row.score)
    assert made.warnings == [
        "b: its rates have several units, so they have no mean: items/s, tokens/s"
    ]
    assert not any("slower" in note for note in made.notes)
    assert not made.passed
