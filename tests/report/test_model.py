import math
from math import nan
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import Failure, Report, Row
from milabench_ddp.report.process import ProcessResult
from milabench_ddp.report.run_info import RunInfo
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.records import Record, Run

ROW = Row("b", 0, 2, 1, 10.0, 0.01, 0.02, nan, score=3.0, weight=1.0)


def report(*rows: Row, compat: bool = False, findings: tuple[Finding, ...] = ()) -> Report:
    return Report(compat, (RunInfo("r", Path("r"), "ok"),), rows, findings=findings)


def test_the_failure_rate_is_that_of_all_processes() -> None:
    rows = replace(ROW, n=98, fail=1), replace(ROW, n=2, fail=nan)
    assert report(*rows).failure_rate == 0.01
    assert math.isnan(report().failure_rate)


def test_only_milabench_accepts_a_failure_in_a_hundred_processes() -> None:
    rows = replace(ROW, n=99, fail=1), replace(ROW, n=1)
    failed = Failure("b", "r", "b.D0", "failed", "exit status 1")
    assert replace(report(*rows, compat=True), failures=(failed,)).passed
    assert not replace(report(*rows), failures=(failed,)).passed
    more = replace(ROW, n=1, fail=1)
    assert not replace(report(*rows, more, compat=True), failures=(failed,)).passed


@pytest.mark.parametrize(
    ("outcome", "perf", "succeeded"),
    [
        ("ok", 10.0, True),
        ("", 10.0, True),  # milabench's files do not say
        ("ok", 0.0, True),
        ("ok", nan, False),
        ("failed", 10.0, False),
        ("cancelled", 10.0, False),
        (None, 10.0, False),
    ],
)
def test_only_a_run_that_ended_ok_and_measured_something_passes(
    outcome: str | None, perf: float, succeeded: bool
) -> None:
    runs = (RunInfo("r", Path("r"), outcome),)
    made = Report(False, runs, (replace(ROW, perf=perf), ROW))
    assert (made.succeeded, made.passed) == (succeeded, succeeded)


def test_where_nothing_was_measured_nothing_passes() -> None:
    nothing = replace(ROW, perf=nan)
    for compat in (False, True):
        for rows in ((), (nothing,), (nothing, nothing)):
            made = report(*rows, compat=compat)
            assert not made.passed
            assert not made.has_measured


def test_a_benchmark_that_never_ran_is_one_failure_of_one() -> None:
    rows = ROW, replace(ROW, n=0, fail=1)
    assert report(*rows).failure_rate == pytest.approx(1 / 3)
    assert report(*rows, compat=True).failure_rate == 0.5  # not a process in milabench's formula


def test_errors_warnings_and_notes_are_the_sentences_of_findings() -> None:
    noted, warned = Finding("n", severity=Severity.NOTE), Finding("w")
    broken = Finding("e", severity=Severity.ERROR)
    made = report(findings=(broken, warned, noted))
    assert (made.errors, made.warnings, made.notes) == (["e"], ["w"], ["n"])


@pytest.mark.parametrize("worst", list(Severity))
def test_a_report_has_the_severities_up_to_its_worst(worst: Severity) -> None:
    findings = Finding("a", severity=Severity.NOTE), Finding("b", severity=worst)
    made = report(findings=findings)
    assert [made.has(severity) for severity in Severity] == [
        worst is Severity.ERROR,
        worst is not Severity.NOTE,
        True,
    ]
    assert not any(report().has(severity) for severity in Severity)


def test_throughput_is_that_of_all_processes_of_a_launch() -> None:
    assert ROW.throughput == 10.0
    assert replace(ROW, reporting=6, launches=2, per_launch=3.0).throughput == 30.0


def test_without_step_times_the_step_is_the_mean_that_the_program_reported() -> None:
    assert math.isnan(ROW.step_ms)
    assert replace(ROW, facts={"model": {"step_ms": 12.5}}).step_ms == 12.5


def test_a_launch_is_successful_where_all_its_processes_are() -> None:
    def process(name: str, repeat: str, outcome: str) -> ProcessResult:
        tag = ["b", repeat, "D0"]
        told = RateCounts(usable=1)
        record = Record(Path("b.data"), {"tag": tag}, end={"outcome": outcome}, told=told)
        return ProcessResult(Run(Path(name), None, (record,), ()), record)

    ended = (
        process("r", "R0", "ok"),
        process("r", "R0", "failed"),
        process("r", "R1", "ok"),
        process("other", "R0", "ok"),
        process("other", "R0", "ok"),
    )
    assert replace(ROW, processes=ended).successful_launches() == (2, 3)
