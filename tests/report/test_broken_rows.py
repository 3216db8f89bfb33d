"""Reports on a benchmark that breaks a row, a finding or a format, beside one that does not."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.errors import SelectionError
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.report import assemble, findings
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.broken_rows import in_spite_of_broken
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.findings.finder import Measurements, finding
from milabench_ddp.report.model import Report, Row
from milabench_ddp.report.process import ProcessResult
from tests.support.result_files import config, end, rates, start, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("bad", "good"):
        write(tmp_path, f"{name}.D0", config(name), start(), rates([1.0] * 30), end())
    return tmp_path


def breaks(what: Any) -> Any:
    def broken(subject: Any, *more: Any, **others: Any) -> Any:
        first = subject[0] if isinstance(subject, list | tuple) else subject
        record = getattr(first, "record", None)
        if (record.name if record else getattr(first, "name", "")) == "bad":
            raise ValueError("no such number")
        return what(subject, *more, **others)

    return broken


def test_a_row_that_cannot_be_made_is_the_failure_of_its_benchmark(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assemble, "summary_row", breaks(assemble.summary_row))
    made = report_of([folder])
    bad, good = sorted(made.rows, key=lambda row: row.name)
    assert (bad.fail, bad.n, good.fail, good.perf) == (1, 1, 0, 1.0)
    (failure,) = made.failures
    assert failure.benchmark == "bad"
    assert "no report can be made of it: milabench itself failed" in failure.reason
    assert "ValueError: no such number" in failure.reason
    assert not made.succeeded


def test_so_is_a_process_of_which_nothing_can_be_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks(process: ProcessResult) -> Verdict | None:
        if process.record.name == "bad":
            raise KeyError("outcome")
        return Verdict(Outcome.OK)

    monkeypatch.setattr(ProcessResult, "verdict", property(looks))
    made = report_of([folder])
    assert [failure.benchmark for failure in made.failures] == ["bad"]
    assert {row.name: row.perf for row in made.rows}["good"] == 1.0


def test_a_finding_that_cannot_be_looked_for_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @finding("warning", "")
    def mine(row: Row) -> Any:
        raise ZeroDivisionError(f"of {row.name}")
        yield

    @finding("warning", "")
    def about_runs(_: Measurements) -> Any:
        return {}["x"]

    for each in (mine, about_runs):
        monkeypatch.setitem(findings.FINDERS, each.name, each)
    made = report_of([folder])
    said = [each.sentence for each in made.findings if "the search for" in each.sentence]
    *of_rows, of_runs = said
    assert of_runs.startswith("the search for `about_runs` failed: milabench itself failed")
    assert [each.split(" (")[0] for each in of_rows] == [
        f"{name}: the search for `mine` failed: milabench itself failed: "
        f"ZeroDivisionError: of {name}"
        for name in ("bad", "good")
    ]
    assert {row.name: row.perf for row in made.rows} == {"bad": 1.0, "good": 1.0}


def test_what_can_be_made_of_all_but_one_is_made(folder: Path) -> None:
    """As by a format that has a column for which the numbers of one benchmark are no good."""

    def shown(report: Report) -> str:
        for row in report.rows:
            if row.name == "bad" and row.processes:
                raise OverflowError("too large")
        return " ".join(row.name for row in report.rows)

    whole = report_of([folder])
    made, text = in_spite_of_broken(shown, whole)
    assert (text, len(made.rows), made.succeeded) == ("bad good", 2, False)
    (failure,) = made.failures
    assert (failure.benchmark, "OverflowError: too large" in failure.reason) == ("bad", True)
    assert made.rows[1] is whole.rows[1]
    assert "OverflowError: too large" in " ".join(report_text(made).split())


def test_what_can_be_made_of_none_is_an_error(folder: Path) -> None:
    def shown(report: Report) -> str:
        raise SelectionError("--table x: unknown")

    with pytest.raises(SelectionError):
        in_spite_of_broken(shown, report_of([folder]))
    with pytest.raises(KeyError):
        in_spite_of_broken(lambda _: {}["x"], replace(report_of([folder]), rows=()))
