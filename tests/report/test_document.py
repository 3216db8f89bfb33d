"""The document of runs whose truth is planted."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.document import SWEPT, document_of
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.ledger_table import ledger
from milabench_ddp.report.tables.main_table import MILABENCH, milabench_table
from milabench_ddp.report.tables.monitor_tables import devices
from tests.support.described_runs import measured
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    job,
    line,
    rates,
    sampled,
    start,
    steps,
    timed_rates,
    told,
    write,
    write_state,
)
from tests.support.sweep_of_models import make


def test_the_verdict_and_what_is_behind_it(tmp_path: Path) -> None:
    write_state(tmp_path, "failed", {"a": "ok", "b": "failed"}, skipped=[])
    write(tmp_path, "a.D0", config("a", device=0), start(), rates([9.0] * 5), end(0, outcome="ok"))
    lost = line("data", {"task": "train", "loss": math.nan}, "data")
    write(tmp_path, "b.D0", config("b", device=0), start(), lost, end(1), stderr="boom\n")
    report = report_of([tmp_path])
    made = document_of(report)
    assert (made.schema, made.passed, made.goes_on) == (1, False, False)
    assert made.failure_rate == 0.5
    assert [(each.name, each.state) for each in made.benchmarks] == [("a", "ok"), ("b", "failed")]
    assert [failure.lines for failure in made.failures] == [("boom",)]
    assert made.findings == report.findings
    sentences = made.errors + made.warnings + made.notes
    assert sorted(sentences) == sorted(finding.sentence for finding in made.findings)


def test_what_a_run_was_measured_with(tmp_path: Path) -> None:
    (run,) = document_of(report_of([measured(tmp_path / "a")])).runs
    wanted = {"torch": "2.15.0+cu132", "driver": "580.95", "devices": "2 x NVIDIA H100"}
    assert run.facts.items() >= wanted.items()
    assert run.command


def values(sweep: Any) -> dict[str, float]:
    """The numbers of a sweep's table, by the benchmark."""
    cells = [cell for line in sweep.lines for cell in line.cells]
    return {cell.benchmark: cell.value for cell in cells if math.isfinite(cell.value)}


def test_sweeps_are_those_of_the_tables(tmp_path: Path) -> None:
    report = report_of([make(tmp_path / "run")])
    made = document_of(report)
    assert tuple(sweep.metric for sweep in made.sweeps) == SWEPT
    rows = {row.name: row for row in report.rows}
    for sweep in made.sweeps:
        assert sweep.columns == sweep_of(report, sweep.metric).columns
        assert all(len(line.cells) == len(sweep.columns) for line in sweep.lines)
    throughput, latency, efficiency = map(values, made.sweeps)
    assert throughput
    assert throughput == {name: rows[name].throughput for name in throughput}
    assert latency == {name: rows[name].step_ms for name in latency}
    of_rows = {each.name: each.efficiency for each in made.benchmarks}
    assert efficiency == {name: of_rows[name] for name in efficiency}
    assert all(each.settings for each in made.benchmarks if each.name in throughput)


def test_benchmarks_that_share_a_cell_have_no_table(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b", 2), ("c", 2)):
        of = config(name, matrix={"size": size})
        write(tmp_path, f"{name}.D0", of, start(), rates([9.0] * 5), end())
    assert document_of(report_of([tmp_path])).sweeps == ()


@pytest.mark.parametrize("compat", [False, True])
def test_unknown_numbers_are_null_in_json(tmp_path: Path, compat: bool) -> None:
    write(tmp_path, "a", config("a"), start(), rates([math.nan, math.inf]), end())
    report = report_of([tmp_path], compat_formulas=compat)
    assert math.isnan(document_of(report).benchmarks[0].std)
    assert json.loads(report_json(report))["benchmarks"][0]["std"] is None


def test_the_columns_of_the_main_table() -> None:
    report = report_of([RECORDED / "schema-1"])
    for row, made in zip(report.rows, document_of(report).benchmarks, strict=True):
        shown = [getattr(made, name) for name in MILABENCH[1:]]
        (values,) = milabench_table([row]).rows
        assert shown == pytest.approx(list(values[1 : len(MILABENCH)]), rel=0, nan_ok=True)
        assert (made.interval, made.launches) == (row.interval, row.launches)
        assert (made.step_ms, made.mfu) == pytest.approx((row.step_ms, row.used.mfu), nan_ok=True)


def test_ranks_with_their_ledgers(tmp_path: Path) -> None:
    """Rank 1 computes for 30 ms of each step, rank 0 for 20 ms and waits for 10."""
    parts = ""
    for rank, own in enumerate((20.0, 30.0)):
        exposed = 40.0 - own
        spent = {"forward": [own] * 40, "exposed_communication": [exposed] * 40}
        parts += steps(rank, [40.0] * 40, parts=spent)
    values = timed_rates([100.0] * 40)
    mode = told(model={"mode": "ddp"})
    write(tmp_path, "b.0", job("b"), start(), values, parts, mode, end(0, outcome="ok"))
    report = report_of([tmp_path])
    (made,) = document_of(report).benchmarks
    assert [rank.rank for rank in made.ranks] == [0, 1]
    assert [rank.own_ms for rank in made.ranks] == [20.0, 30.0]
    assert [rank.ledger_ms["waiting"] for rank in made.ranks] == pytest.approx([10.0, 0.0])
    for of in (made.ledger_ms, *(rank.ledger_ms for rank in made.ranks)):
        assert sum(ms for name, ms in of.items() if name != "hidden") == pytest.approx(40.0)
    assert made.ledger_ms["waiting"] == pytest.approx(5.0)
    waiting = [column.name for column in ledger(report.rows).columns].index("waiting")
    assert [line[waiting] for line in ledger(report.rows).rows] == pytest.approx([5.0, 10.0, 0.0])


def test_devices_are_those_of_the_table(tmp_path: Path) -> None:
    for device in range(2):
        own = {"power": 600.0 + device, "memory": [10.0 + device, 80000.0]}
        seen = "".join(sampled(1000.5 + k, **{f"d{device}": own}) for k in range(9))
        tag = ["b", f"D{device}"]
        settings = config("b", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), seen, timed_rates([9.0] * 9), end())
    report = report_of([tmp_path])
    (made,) = document_of(report).benchmarks
    assert [(each.device, each.power, each.peak_memory) for each in made.devices] == [
        ("0", 600.0, 10.0), ("1", 601.0, 11.0),
    ]  # fmt: skip
    assert [line[1] for line in devices(report.rows).rows] == ["0", "1"]


def test_the_command_that_repeats_it(tmp_path: Path) -> None:
    run = tmp_path / "a run's folder"
    write_state(run, "ok", {"a": "ok", "b": "ok"})
    for name in "ab":
        write(run, f"{name}.D0", config(name, device=0), start(), rates([9.0] * 5), end())
    (run / "a").mkdir(exist_ok=True)
    (run / "a" / "command.sh").write_text("true\n")
    first, second = document_of(report_of([run])).benchmarks
    (command,) = first.repeat_with
    assert shlex.split(command) == ["bash", str(run / "a" / "command.sh")]
    assert second.repeat_with == ()
