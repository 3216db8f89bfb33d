"""Sentences that all formats share."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import Failure, Report
from milabench_ddp.report.sentences import (
    alike,
    failure_sentence,
    run_facts,
    skipped_sentences,
    verdict,
)
from tests.support.result_files import RECORDED, config, end, rates, start, write


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of([RECORDED / "schema-1"])


def test_the_verdict(report: Report, tmp_path: Path) -> None:
    assert verdict(report).startswith(f"PASS: {len(report.rows)} of ")
    write(tmp_path, "a.D0", config("a", device=0), start(), rates([9.0] * 5), end())
    write(tmp_path, "b.D0", config("b", device=0), start(), end(1))
    assert verdict(report_of([tmp_path])) == "FAIL: 1 of 2 benchmarks ok, 1 failed"


def test_a_run(report: Report) -> None:
    (run,) = report.runs
    assert run_facts(run)["Run"] == f"{run.path}: ok, 2026-11-21 17:01:24 UTC, 1 min 52 s"
    going_on = replace(run, outcome=None, started=None)
    assert run_facts(going_on)["Run"] == f"{run.path}: still going on"


def test_findings_by_severity_and_name(report: Report) -> None:
    names = ("a", "a", "b")
    found = [Finding(f"{k}", name=name, severity=Severity.ERROR) for k, name in enumerate(names)]
    found.append(Finding("3", name="a", severity=Severity.NOTE))
    made = replace(report, findings=tuple(found))
    groups = [[each.sentence for each in group] for group in alike(made, Severity.ERROR)]
    assert groups == [["0", "1"], ["2"]]
    assert list(alike(made, Severity.WARNING)) == []


def test_what_was_not_run_by_reason() -> None:
    skipped = [SkippedBenchmark(name, "no GPU (x.yaml:3)") for name in "abcd"]
    assert list(skipped_sentences(skipped)) == ["a, b, c and 1 more: no GPU"]


def test_what_failed() -> None:
    failure = Failure("b", "run", "b.0", "failed", "rank 3: boom", rank=3)
    assert failure_sentence(failure) == "b.0, rank 3: failed: boom"
