"""A benchmark whose program finds that the device lacks what it measures, and tells so."""

import json
from pathlib import Path

import pytest

from milabench_ddp.commands.final_report import exit_code
from milabench_ddp.dispatch.run_context import resume_run
from milabench_ddp.dispatch.runners.attached import HostRunner
from milabench_ddp.events import Outcome
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.results.run_dir import RunDir
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context, program
from tests.support.workplace import EMIT, GOOD

REASON = "fp8 needs compute capability 8.9, cuda:0 has 8.0"
LACKS = f"""{EMIT}
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    error = {{"type": "SkippedError", "message": "{REASON}", "rank": 0, "skip": True}}
    channel.write(json.dumps({{"$event": "error", "$data": error}}) + "\\n")
sys.exit(2)
"""


def ran(folder: Path, **programs: str) -> Outcome:
    run = context(folder, *(program(folder, name, text) for name, text in programs.items()))
    return HostRunner().execute((run, RecordedProgress()))[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two benchmarks, one of which is skipped."""
    path = tmp_path_factory.mktemp("run")
    assert ran(path, good=GOOD, fp8=LACKS) is Outcome.OK
    return path


def test_it_does_not_fail_the_run(folder: Path) -> None:
    report = report_of([folder])
    assert report.runs[0].outcome == Outcome.OK
    assert [row.name for row in report.rows] == ["good"]
    assert (report.failures, report.failure_rate, exit_code(report)) == ((), 0.0, 0)


def test_text_and_json_have_the_reason(folder: Path) -> None:
    report = report_of([folder])
    assert f"fp8: {REASON}" in report_text(report, 1000)
    told = json.loads(FORMATS["json"].report(report))
    assert told["runs"][0]["skipped"] == [{"name": "fp8", "reason": REASON, "kind": "unable"}]
    assert told["runs"][0]["verdicts"]["fp8"] == {"outcome": "skipped", "reason": REASON}


def test_a_sweep_has_the_word_and_the_reason(folder: Path) -> None:
    sweep = sweep_of(report_of([folder]), "perf")
    cells = {label[0]: cells for label, (cells, *_) in sweep.lines("")}
    assert (cells["fp8"].text, cells["fp8"].note) == ("skipped", REASON)


def test_the_score_is_not_that_of_the_whole_suite(folder: Path) -> None:
    assert report_of([folder]).score.reason.endswith(f"without fp8 (fp8: {REASON})")


def test_a_resumed_run_leaves_it_alone(folder: Path) -> None:
    resumed = resume_run(RunDir(folder), {})
    resumed.close()
    assert resumed.benchmarks == ()


def test_a_run_all_of_which_is_skipped_has_measured_nothing(tmp_path: Path) -> None:
    assert ran(tmp_path, fp8=LACKS) is Outcome.SKIPPED
    report = report_of([tmp_path])
    assert exit_code(report) == 1
    assert "nothing was measured" in report_text(report, 1000)
