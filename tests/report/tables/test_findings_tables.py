"""The findings as tables."""

from dataclasses import replace

from milabench_ddp.report.model import Finding, Report, Severity
from milabench_ddp.report.tables.findings_tables import LAYERS, findings, validation

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


def test_each_layer_has_its_findings_or_is_ok() -> None:
    second = replace(ERROR, name="nan_loss", layer="loss", sentence="c")
    made = validation(report(ERROR, second, NOTE))
    assert {row[0]: row[1:3] for row in made.rows} == {
        **dict.fromkeys(LAYERS, ("ok", "")),
        "error": ("error", "failed"),
        "loss": ("error", "nan_loss"),
    }
    assert len(validation(report(ERROR, ERROR)).rows) == len(LAYERS) + 1
