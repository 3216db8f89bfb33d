"""The findings of a report in full, and by milabench's validation layers."""

from collections.abc import Mapping

from ...table import Column, Table, without_unknown
from ..model import Finding, Report

# milabench's validation layers, and what each looks for
LAYERS: Mapping[str, str] = {
    "error": "benchmarks and processes that failed",
    "ensure_rate": "processes without a training rate",
    "version": "records without the version of milabench",
    "loss": "losses that are NaN, or rise",
    "usage": "devices that were hardly used",
    "planning": "processes and ranks that the plan has, and that told nothing",
}


def findings(report: Report) -> Table:
    """Every finding, the worst first, with what to do about it."""
    columns = (
        Column("severity"),
        Column("finding"),
        Column("bench", unknown=""),
        Column("place", unknown=""),
        Column("sentence"),
        Column("what to do", unknown=""),
    )
    rows = tuple(map(_row, report.findings))
    return without_unknown(Table(columns, rows, "Findings"), always=2)


def _row(finding: Finding) -> tuple[str, ...]:
    return (
        finding.severity,
        finding.name,
        finding.benchmark,
        finding.place,
        finding.sentence,
        finding.advice,
    )


def validation(report: Report) -> Table:
    """The findings of each of milabench's validation layers; ``ok`` where there is none."""
    columns = (Column("layer"), Column("result"), Column("finding", unknown=""), Column("sentence"))
    rows: list[tuple[str, str, str, str]] = []
    for layer, meaning in LAYERS.items():
        found = [finding for finding in report.findings if finding.layer == layer]
        rows += [(layer, each.severity, each.name, each.sentence) for each in found]
        if not found:
            rows.append((layer, "ok", "", f"no {meaning}"))
    return Table(columns, tuple(rows), "Validation")
