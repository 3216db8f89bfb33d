"""The document of runs whose truth is planted."""

import json
import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.document.make_document import SWEPT, document_of
from milabench_ddp.report.document.report_document import SweepReport
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.sweeps.sweep import sweep_of
from tests.support.described_runs import measured
from tests.support.result_files import config, end, line, rates, start, write, write_state
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


def values(sweep: SweepReport) -> dict[str, float]:
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
