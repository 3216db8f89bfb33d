"""``milabench report --failures``: what each program printed last, and how to repeat it."""

from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.failing_runs import fifteen_ways
from tests.support.result_files import RECORDED


@pytest.fixture
def run(tmp_path: Path) -> str:
    fifteen_ways(tmp_path / "run")
    return str(tmp_path / "run")


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_each_failure_is_told_with_its_last_lines(
    run: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", run, "--failures", "--format", format]) == 1
    said = capsys.readouterr().out
    assert said.count("prog.py: error: unrecognized arguments: --batchsize 32") == 1
    assert said.count("D0: failed: ") == 14
    assert said.count("D0: timeout: ") == 1
    assert "good" not in said


def test_where_nothing_failed_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(RECORDED / "first"), "--failures"]) == 0
    assert capsys.readouterr().out == "Nothing failed.\n"


@pytest.mark.parametrize(
    "words", [["--format", "json"], ["--table", "steps"], ["--compat"], ["--html", "r.html"]]
)
def test_it_goes_without_what_has_no_lines(
    run: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", run, "--failures", *words]) == 2
    assert "--failures" in capsys.readouterr().err


def test_in_a_pull_request_each_cause_has_its_advice_in_a_fold(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", run, "--format", "markdown"])
    head, _, folds = capsys.readouterr().out.partition("<details>")
    assert head.count("\n- **failed** ") == 15
    fold = folds.partition("</details>")[0]
    assert fold.count("\n- **To do** ") == 15
    assert "chmod" in fold
