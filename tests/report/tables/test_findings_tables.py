"""The findings as tables."""

from pathlib import Path

from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables.findings_tables import LAYERS, findings, validation
from tests.support.trained_ranks import trained

ERROR = Finding("b: it broke", "b", "rank 3", {}, "failed", Severity.ERROR, "mend it", "error")
NOTE = Finding("as planned", name="noted", severity=Severity.NOTE)


def report(*found: Finding) -> Report:
    return Report(False, (), (), findings=found)


def test_each_finding_has_what_to_do() -> None:
    assert findings(report(ERROR, NOTE)).rows == (
        ("error", "failed", "b", "rank 3", "b: it broke", "mend it"),
        ("note", "noted", "", "", "as planned", ""),
    )
    assert [column.name for column in findings(report(NOTE)).columns] == [
        "severity", "finding", "sentence",
    ]  # fmt: skip


def test_each_layer_has_its_findings() -> None:
    second = replace(ERROR, name="nan_loss", layer="loss", sentence="c")
    made = validation(report(ERROR, second, NOTE))
    assert {row[0]: row[1:3] for row in made.rows} == {
        **dict.fromkeys(LAYERS, ("-", "")),  # nothing was measured
        "error": ("error", "failed"),
        "loss": ("error", "nan_loss"),
    }
    assert len(validation(report(ERROR, ERROR)).rows) == len(LAYERS) + 1


def test_a_layer_is_ok_only_if_it_has_something_to_look_at(tmp_path: Path) -> None:
    trained(2).write(tmp_path)
    results = {row[0]: row[1] for row in validation(report_of([tmp_path])).rows}
    assert results["usage"] == "-"  # no device was sampled
    assert results["loss"] == results["planning"] == "ok"
