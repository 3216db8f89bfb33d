from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.render.text import text_of
from milabench_ddp.report.faces import HEAD, facts_of, report_text
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import NAN, Failure, Report, Row
from milabench_ddp.report.run_info import RunInfo
from milabench_ddp.report.score import Score

GOOD = Row("a", 0, 2, 1, 10.0, NAN, NAN, NAN, 10.0, 1.0)
BAD = replace(GOOD, name="b", fail=1.0, perf=NAN)
UNMEASURED = replace(GOOD, name="c", perf=NAN)
RUN = RunInfo("r", Path("runs/r"), "ok", host="node3", preset="full")


def head(report: Report, width: int) -> list[str]:
    """The lines of the text above what was run."""
    return report_text(report, width).partition("\nRun ")[0].split("\n")


@pytest.mark.parametrize(
    ("outcome", "rows", "verdict"),
    [
        ("ok", [GOOD], "PASS: 1 of 1 benchmark ok"),
        (
            "ok",
            [GOOD, replace(GOOD, name="z", n=1)],
            "PASS: 2 of 2 benchmarks ok",
        ),
        ("failed", [GOOD, BAD], "FAIL: 1 of 2 benchmarks ok, 1 failed"),
        (None, [GOOD, BAD], "FAIL: 1 of 2 benchmarks ok, 1 failed"),
        (None, [GOOD], "none yet: the run goes on; 1 of 1 benchmark ok, none failed so far"),
        ("ok", [GOOD, UNMEASURED], "FAIL: 1 of 2 benchmarks ok; nothing was measured in c"),
        ("ok", [UNMEASURED], "FAIL: nothing was measured"),
        ("ok", [], "FAIL: nothing was measured"),
        ("lost", [GOOD], "FAIL: 1 of 1 benchmark ok, but the run was lost"),
        ("cancelled", [GOOD], "CANCELLED: 1 of 1 benchmark ok"),
        ("cancelled", [GOOD, BAD, UNMEASURED], "CANCELLED: 1 of 3 benchmarks ok"),
    ],
)
def test_the_verdict(outcome: str | None, rows: list[Row], verdict: str) -> None:
    failures = tuple(Failure(row.name, "r", None, "failed", "") for row in rows if row.fail)
    report = Report(False, (replace(RUN, outcome=outcome),), tuple(rows), failures)
    assert head(report, 200) == [verdict]


def test_what_waits_is_counted() -> None:
    run = replace(RUN, outcome=None, running=(GOOD.name,), waiting=("w", "x"))
    assert "0 of 3 benchmarks ok" in head(Report(False, (run,), (GOOD,)), 200)[0]


def test_the_score_is_told_where_it_was_asked_for() -> None:
    report = Report(False, (RUN,), (GOOD,), score=Score(reason="it is relative to a baseline run"))
    assert "\nScore " not in report_text(report)
    scored = replace(report, score=Score(0.974, baseline=Path("runs/base")))
    assert "\nScore    0.974 of runs/base\n" in report_text(scored)
    without = replace(report, score=Score(reason="the run has not ended", baseline=Path("b")))
    assert "\nScore    none: the run has not ended\n" in report_text(without)


def test_what_several_runs_share_is_told_once() -> None:
    other = replace(RUN, path=Path("runs/s"), outcome="failed")
    elsewhere = replace(other, path=Path("runs/t"), host="node4")
    assert text_of(facts_of([RUN, other, elsewhere], HEAD), 80).splitlines() == [
        "Run      runs/r: ok",
        "Machine  node3",
        "Run      runs/s: failed",
        "Run      runs/t: failed",
        "Machine  node4",
    ]


def test_many_benchmarks_that_wait_are_counted() -> None:
    waiting = replace(RUN, outcome=None, running=("a",), waiting=tuple(f"w{k}" for k in range(300)))
    lines = text_of(facts_of([waiting], HEAD), 80).splitlines()
    assert lines[1] == "State    running: a; waiting: w0, w1, w2 and 297 more"


LOST = Finding("GPU 3 was lost (in mine)", name="lost_device", severity=Severity.ERROR)
WRONG = Finding("mine: its gradients are wrong", "mine", severity=Severity.ERROR)


@pytest.mark.parametrize(
    ("outcome", "findings", "verdict"),
    [
        ("ok", [LOST], "FAIL: 1 of 1 benchmark ok, but GPU 3 was lost (in mine)"),
        ("ok", [WRONG], "FAIL: 1 of 1 benchmark ok, but mine: its gradients are wrong"),
        (
            "ok",
            [LOST, WRONG, WRONG],
            "FAIL: 1 of 1 benchmark ok, but GPU 3 was lost (in mine); 2 more errors",
        ),
        ("ok", [Finding("slow")], "PASS: 1 of 1 benchmark ok"),
        ("cancelled", [LOST], "CANCELLED: 1 of 1 benchmark ok; GPU 3 was lost (in mine)"),
        (None, [LOST], "none yet: the run goes on; 1 of 1 benchmark ok, none failed so far"),
    ],
)
def test_an_error_about_the_run_is_its_verdict(
    outcome: str | None, findings: list[Finding], verdict: str
) -> None:
    report = Report(False, (replace(RUN, outcome=outcome),), (GOOD,), findings=tuple(findings))
    assert head(report, 200) == [verdict]
    assert report.passed == verdict.startswith("PASS")
