"""A report for programs: CSV with the columns of the table, JSON with all there is."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping
from typing import Any

from .columns import COLUMNS, UNIT
from .model import Failure, Report, Row, RunInfo


def csv_text(report: Report) -> str:
    """The table, at full precision; what is not known is ``nan``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = (*COLUMNS, UNIT)
    writer.writerow([column.name for column in columns])
    for row in report.rows:
        writer.writerow([column.value(row) for column in columns])
    return out.getvalue()


def json_text(report: Report) -> str:
    """Everything, at full precision; what is not known is null, and sem% and std% are fractions."""
    whole = {
        "compat": report.compat,
        "score": report.score,
        "failure_rate": report.failure_rate,
        "pass": report.passed,
        "benchmarks": [_row(row) for row in report.rows],
        "failures": [_failure(failure) for failure in report.failures],
        "notes": report.notes,
        "warnings": report.warnings,
        "runs": [_run(run) for run in report.runs],
    }
    return json.dumps(_known(whole), indent=1, allow_nan=False) + "\n"


def _row(row: Row) -> dict[str, Any]:
    columns = {column.name: column.value(row) for column in COLUMNS}
    return {
        "name": row.name,
        **columns,
        "unit": row.unit or None,
        "enabled": row.enabled,
        **row.details,
        **_measured(row),
    }


def _measured(row: Row) -> dict[str, Any]:
    """What the other tables of the text are made of, in full."""
    if not row.members and not row.tables:
        return {}
    return {
        "step_ms": row.step_ms,
        "mfu": row.mfu,
        "peak": dataclasses.asdict(row.peak) if row.peak else None,
        "ranks": [member.json() for member in row.members],
        **row.tables,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    whole = str(failure.whole) if failure.whole else None
    return {**dataclasses.asdict(failure), "whole": whole}


def _run(run: RunInfo) -> dict[str, Any]:
    return {
        **dataclasses.asdict(run),
        "path": str(run.path),
        "skipped": [{"name": name, "reason": reason} for name, reason in run.skipped],
    }


def _known(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return value
