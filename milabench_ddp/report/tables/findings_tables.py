"""The findings of a report in full, and by milabench's validation layers."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ...table import Column, Table, without_unknown
from ..finding import Finding
from ..model import Report


class Layer(Struct, frozen=True):
    """A validation layer of milabench."""

    finds: str
    looks: Callable[[Report], bool]  # whether the report has what it looks at


def _has_rows(report: Report) -> bool:
    return bool(report.rows)


def _has_samples(report: Report) -> bool:
    return any(process.record.samples for row in report.rows for process in row.processes)


LAYERS: Mapping[str, Layer] = {
    "error": Layer("benchmarks and processes that failed", lambda _: True),
    "ensure_rate": Layer("processes without a training rate", _has_rows),
    "version": Layer("records without the version of milabench", _has_rows),
    "loss": Layer("losses that are NaN, or rise", _has_rows),
    "usage": Layer("devices that were hardly used", _has_samples),
    "planning": Layer("processes and ranks that the plan has, and that told nothing", _has_rows),
}


def findings(report: Report) -> Table:
    """Every finding, the worst first, with what to do about it."""
    columns = (
        Column("severity"),
        Column("finding"),
        Column("benchmark", unknown=""),
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
    """The findings of each of milabench's validation layers.

    A layer without one is ``ok``, or ``-`` where it has nothing to look at.
    """
    columns = (Column("layer"), Column("result"), Column("finding", unknown=""), Column("sentence"))
    rows: list[tuple[str, str, str, str]] = []
    for name, layer in LAYERS.items():
        found = [finding for finding in report.findings if finding.layer == name]
        rows += [(name, each.severity, each.name, each.sentence) for each in found]
        if not found and layer.looks(report):
            rows.append((name, "ok", "", f"no {layer.finds}"))
        elif not found:
            rows.append((name, "-", "", f"nothing was recorded that shows {layer.finds}"))
    return Table(columns, tuple(rows), "Validation")
