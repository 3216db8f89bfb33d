"""The lines about runs, benchmarks, ranks and findings: those of the document."""

import json
import math
from pathlib import Path

import pytest

from milabench_ddp.report.tidy.make_lines import (
    benchmark_lines,
    finding_lines,
    rank_lines,
    run_lines,
)
from milabench_ddp.report.tidy.read_runs import ReportedRun, read_runs
from tests.support.described_runs import measured
from tests.support.tidy_runs import make


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReportedRun:
    (found,) = read_runs([make(tmp_path_factory.mktemp("runs") / "first")])
    return found


def test_a_run_has_what_it_was_measured_with(tmp_path: Path) -> None:
    (of,) = read_runs([measured(tmp_path / "a")])
    (made,) = run_lines(of)
    assert (made.run, made.outcome, made.preset) == (str(tmp_path / "a"), "ok", "full")
    assert (made.torch, made.driver, made.devices) == ("2.15.0+cu132", "580.95", "2 x NVIDIA H100")
    assert (made.rocm, made.commit, made.environment) == (None, "a" * 12, "NCCL_ALGO=Ring")


def test_benchmarks(run: ReportedRun) -> None:
    flops, gpt = sorted(benchmark_lines(run), key=lambda made: made.benchmark)
    row = next(row for row in run.report.rows if row.name == "gpt")
    assert (flops.benchmark, flops.state, flops.reason) == ("flops", "failed", "exit status 1")
    assert math.isnan(flops.perf)
    assert (gpt.benchmark, gpt.state, gpt.perf, gpt.sem) == ("gpt", "ok", row.perf, row.sem)
    assert (gpt.interval_low, gpt.interval_high) == row.summary.interval
    assert json.loads(gpt.settings) == {"size": 7}
    assert gpt.step_ms == 41.0


def test_ranks_with_the_items_of_the_ledger(run: ReportedRun) -> None:
    first, second = rank_lines(run)
    assert (first.rank, second.rank, first.benchmark) == (0, 1, "gpt")
    assert (first.waiting_ms, second.waiting_ms) == pytest.approx((10.0, 0.0))
    assert (first.forward_ms, second.forward_ms) == pytest.approx((20.0, 30.0))
    assert first.communication_ms == pytest.approx(10.0)
    assert math.isnan(first.bubble_ms)


def test_findings(run: ReportedRun) -> None:
    made = list(finding_lines(run))
    assert [each.sentence for each in made] == [each.sentence for each in run.report.findings]
    assert {"failed"} <= {each.name for each in made}
