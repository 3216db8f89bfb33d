import math
from pathlib import Path

from milabench_ddp.report.assemble import report_of
from tests.support.rates import falling
from tests.support.result_files import config, end, rate, rates, start, write


def test_a_rate_that_still_falls_is_told_in_figures(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(falling(60, 1, 0.05)), end())
    write(tmp_path, "b.D1", config("b", device=1), start(), rates([100.0] * 60), end())
    made = report_of([tmp_path])
    (warning,) = (each for each in made.findings if each.name == "no_steady_state")
    assert warning.sentence.startswith("b: b.D0: no steady state: it still falls 5.")
    assert warning.sentence.endswith("(in 1 of 2 processes)")
    assert warning.evidence["change"] == made.rows[0].drift
    assert -0.06 < made.rows[0].drift < -0.05


def test_time_between_observations_is_told(tmp_path: Path) -> None:
    """200 steps of 20 ms, and three validations of 0.25 s."""
    lines = []
    for k in range(200):
        lines.append(rate(50.0, time=1000 + 0.02 * k + 0.25 * (k // 50), steps=1))
    write(tmp_path, "b.D0", config("b", device=0), start(), *lines, end())
    (note,) = (each for each in report_of([tmp_path]).notes if "between" in each)
    assert note == (
        "b: b.D0: 15.9% of its time is between observations, and in no rate (0.75 of 4.73 s)"
    )


def test_a_process_that_failed_is_in_no_number_of_its_row(tmp_path: Path) -> None:
    """Its rate falls, as it does before a device fails; that of the others is steady."""
    for device in range(3):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        values, code = (falling(60, 1, 0.3), 1) if device == 1 else ([100.0] * 60, 0)
        write(tmp_path, f"b.D{device}", settings, start(), rates(values), end(code))
    made = report_of([tmp_path])
    assert math.isnan(made.rows[0].drift)
    assert made.warnings == []
