"""What programs tell about themselves: each number has a place."""

import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.program_tables import numbers
from milabench_ddp.report.tables.step_tables import steps as steps_table
from tests.support.formats import sweep_csv, sweep_text
from tests.support.result_files import config, end, job, rates, start, steps, told, write


def gpt(folder: Path) -> Path:
    """A GPT that recomputes its activations, beside the peak of its type."""
    peak = rates([100.0] * 9, units="TFLOP/s")
    flops = config("flops", device=0), told(compute_dtype="bf16")
    write(folder, "flops.D0", *flops, start(), peak, end())
    facts = told(
        compute_dtype="bf16", model={"mode": "ddp", "tflops_per_gpu": 30.0, "step_ms": 10.0}
    )
    estimate = told(memory_estimate={"total": 2048.0, "weights": 512.0})
    ratio = told(hardware_flops_ratio=1.25)
    memory = told(memory_peak=[2000.0, 2200.0])
    lines = rates([5.0] * 9), facts, estimate, ratio, memory, steps(0, [10.0] * 9)
    write(folder, "gpt.0", job("gpt"), start(), *lines, end())
    return folder


def test_recomputation_and_the_estimate_stand_in_the_table_of_steps(tmp_path: Path) -> None:
    table = steps_table(report_of([gpt(tmp_path)]).rows)
    names = [column.name for column in table.columns]
    (row,) = (row for row in table.rows if row[0] == "gpt")
    found = dict(zip(names, row, strict=True))
    assert float(found["MFU"]) == pytest.approx(0.30)
    assert float(found["HFU"]) == pytest.approx(0.375)
    assert (found["reserved"], found["estimated"]) == (2200.0, 2048.0)


def test_every_number_is_in_a_table_of_its_own(tmp_path: Path) -> None:
    rows = report_of([gpt(tmp_path)]).rows
    found = {row[1]: row[2] for row in numbers(rows).rows if row[0] == "gpt"}
    assert found["hardware_flops_ratio"] == 1.25
    assert found["memory_estimate.total"] == 2048.0
    assert found["memory_estimate.weights"] == 512.0
    for name in found:
        assert main(["report", str(tmp_path), "--table", name]) == 0


@pytest.mark.parametrize(
    ("ranks", "stdev"),
    [
        ([[10.0, 12.0, 14.0]], 2.0),  # with the divisor n - 1
        ([[10.0, 12.0, 14.0], [11.0, 12.0, 13.0], [12.0] * 3], 1.0),  # the median over ranks
        ([[12.0] * 3], 0.0),
        ([[12.0]], None),  # a single step has no deviation
    ],
)
def test_the_deviation_of_steps_stands_beside_the_latency_in_csv(
    tmp_path: Path, ranks: list[list[float]], stdev: float | None
) -> None:
    times = [steps(rank, ms) for rank, ms in enumerate(ranks)]
    measured = rates([5.0] * 3, steps=1)
    write(tmp_path, "b.0", job("b", len(ranks)), start(), measured, *times, end())
    made = report_of([tmp_path])
    lines = sweep_csv(sweep_of(made, "latency")).splitlines()
    if stdev is None:
        assert lines == ["name,latency", "b,12.0"]
    else:
        assert lines == ["name,latency,latency_stdev", f"b,12.0,{stdev}"]
    assert "stdev" not in sweep_text(sweep_of(made, "latency"))
    value = _only(sweep_of(made, "latency_stdev"))
    assert math.isnan(value) if stdev is None else value == stdev


def _only(sweep: Any) -> float:
    ((_, (cell,)),) = sweep.lines("")
    return float(cell.value)
