"""Programs that claim more than the measured peak, or of which only a part tells its TFLOP/s."""

import json
import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.step_tables import steps
from tests.support.claimed_flops import OK, only, planted
from tests.support.formats import sweep_csv, table_text
from tests.support.result_files import config, rates, start, told, write


@pytest.mark.parametrize("speeds", [(599.0,), (40.0, 599.0), (599.0, 40.0)])
def test_more_than_the_peak_is_an_error_and_no_number(
    tmp_path: Path, speeds: tuple[float, ...]
) -> None:
    made = planted(tmp_path, *speeds)
    (row,) = (row for row in made.rows if row.name == "b")
    assert math.isnan(row.used.mfu)
    assert made.errors == [
        "b: no MFU: it claims 599 TFLOP/s on a device, and flops reached only 100 TFLOP/s in bf16: "
        "one of the two is wrong"
    ]
    assert not any(note.startswith("MFU") for note in made.notes)
    assert "MFU |" not in report_text(made)
    assert json.loads(report_json(made))["benchmarks"][0]["mfu"] is None
    cells = sweep_csv(sweep_of(made, "mfu")).splitlines()
    assert cells == ["name,mfu", "b,-", "flops,-"]


@pytest.mark.parametrize("silent", [0, 3])
def test_numbers_of_a_part_of_the_processes(tmp_path: Path, silent: int) -> None:
    planted(tmp_path / "type", 50.0, 50.0, 50.0, 50.0)
    planted(tmp_path / "speed", 50.0, 50.0, 50.0, 50.0)
    for folder, facts in (("type", told(tflops_per_gpu=50.0)), ("speed", "")):
        settings = config("b", device=silent, tag=["b", f"D{silent}"])
        tag = f"b.D{silent}"
        write(tmp_path / folder, tag, settings, start(), rates([1.0] * 9), facts, OK)
    untyped, unsped = (report_of([tmp_path / folder]) for folder in ("type", "speed"))
    assert math.isnan(only(untyped).used.mfu)
    assert untyped.warnings == [
        "b: no MFU: its processes compute in several precisions: unknown, bf16"
    ]
    assert only(unsped).used.mfu == 0.5
    assert unsped.warnings == ["b: only 3 of 4 processes tell their TFLOP/s"]


def test_a_claim_that_is_not_positive(tmp_path: Path) -> None:
    made = planted(tmp_path, 50.0, -5.0)
    assert math.isnan(only(made).used.mfu)
    assert made.errors == ["b: no MFU: it claims -5 TFLOP/s on a device"]


@pytest.mark.parametrize("speeds", [(math.inf,), (math.nan, 50.0), (50.0, -math.inf), ("inf",)])
def test_a_claim_that_is_not_finite(tmp_path: Path, speeds: tuple[float, ...]) -> None:
    made = planted(tmp_path, *speeds)
    odd = next(k for k, speed in enumerate(speeds) if not math.isfinite(float(speed)))
    (found,) = (found for found in made.findings if found.name == "speed_not_finite")
    where = " (in 1 of 2 processes)" if len(speeds) > 1 else ""
    assert found.sentence == f"b.D{odd}: its tflops_per_gpu is {speeds[odd]}: left out{where}"
    assert (found.place, found.evidence) == (f"b.D{odd}", {"values": {str(speeds[odd]): 1}})


def test_both_figures_have_the_digits_that_tell_them_apart(tmp_path: Path) -> None:
    (error,) = planted(tmp_path, 100.001).errors
    assert "claims 100.001 TFLOP/s on a device, and flops reached only 100 TFLOP/s" in error


@pytest.mark.parametrize(("ratio", "hfu"), [(1.25, "87.5%"), (1.5, None)])
def test_recomputation_does_not_exceed_the_peak(
    tmp_path: Path, ratio: float, hfu: str | None
) -> None:
    planted(tmp_path, 70.0)
    settings = config("b", device=0, tag=["b", "D0"])
    facts = told(tflops_per_gpu=70.0, hardware_flops_ratio=ratio, compute_dtype="bf16")
    write(tmp_path, "b.D0", settings, start(), rates([1.0] * 9), facts, OK)
    made = report_of([tmp_path])
    text = table_text(steps(made.rows))
    if hfu is not None:
        assert hfu in text
        assert made.errors == []
        return
    assert "HFU |" not in text
    assert made.errors == [
        "b: no HFU: with its recomputation it claims 105.0% of the 100 TFLOP/s that flops reached "
        "in bf16: one of the two is wrong"
    ]


def test_the_peak_itself_is_reached(tmp_path: Path) -> None:
    made = planted(tmp_path, 100.0)
    assert [row.used.mfu for row in made.rows if row.name == "b"] == [1.0]
    assert made.warnings == []
