"""The findings of a report in full, and by milabench's validation layers."""

from ...table import Column, Table, table_from, without_unknown
from ..model import Report

FAILURES = "error"
USAGE = "usage"
LAYERS = {  # milabench's validation layers, with what they look for
    FAILURES: "benchmarks and processes that failed",
    "ensure_rate": "processes without a training rate",
    "version": "records without the version of milabench",
    "loss": "losses that are NaN, or rise",
    USAGE: "devices that were hardly used",
    "planning": "processes and ranks that the plan has, and that told nothing",
}


def findings(report: Report) -> Table:
    """Every finding, the worst first, with what to do about it."""
    columns = (
        Column("severity"),
        Column("finding", "", "name"),
        Column("benchmark", unknown=""),
        Column("place", unknown=""),
        Column("sentence"),
        Column("what to do", "", "advice", unknown=""),
    )
    return without_unknown(table_from(columns, report.findings, "Findings"), always=2)


def validation(report: Report) -> Table:
    """The findings of each of milabench's validation layers.

    A layer without one is ``ok``, or ``-`` where it has nothing to look at.
    """
    columns = (Column("layer"), Column("result"), Column("finding", unknown=""), Column("sentence"))
    is_sampled = any(process.record.samples for row in report.rows for process in row.processes)
    rows: list[tuple[str, ...]] = []
    for name, finds in LAYERS.items():
        found = [finding for finding in report.findings if finding.layer == name]
        rows += [(name, each.severity, each.name, each.sentence) for each in found]
        has_data = name == FAILURES or (is_sampled if name == USAGE else bool(report.rows))
        if not found and has_data:
            rows.append((name, "ok", "", f"no {finds}"))
        elif not found:
            rows.append((name, "-", "", f"nothing was recorded that shows {finds}"))
    return Table(columns, tuple(rows), "Validation")
