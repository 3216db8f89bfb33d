"""The formats of a report. A new format is a file and a line in ``FORMATS``.

CSV has the columns of the main table, and JSON has everything; both have full precision.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..codec import encode_indented
from ..table import Table, csv_text
from .energy import energy_of_row, unit_of_work
from .model import Report, Row
from .prediction.predict import Predicted
from .prediction.prediction_table import (
    prediction_columns,
    prediction_json,
    prediction_table,
)
from .process import ProcessResult
from .ranks.rank_summary import RankSummary
from .run_info import RunInfo
from .statistics.values import deviation
from .sweeps.sweep import Sweep, sweep_table
from .tables.device_tables import devices, traffic
from .tables.main_table import MAIN_COLUMNS, main_table, main_values
from .text import report_text, sweep_text, table_text
from .told import Told


@dataclass(frozen=True)
class Format:
    """The functions that write a format; None if it cannot write a table, sweep or prediction."""

    report: Callable[[Report], str]
    table: Callable[[Table], str] | None = None
    sweep: Callable[[Sweep], str] | None = None
    prediction: Callable[[Sequence[Predicted]], str] | None = None


def report_csv(report: Report) -> str:
    """The main table as CSV; unknown values are ``nan``."""
    return csv_text(main_table(report.rows), unknown="nan")


def sweep_csv(sweep: Sweep) -> str:
    """The table of a sweep as CSV."""
    return csv_text(sweep_table(sweep))


def report_json(report: Report) -> str:
    """The whole report as JSON; unknown values are null, and sem% and std% are fractions."""
    whole = {
        "compat": report.compat,
        "score": report.score.value,
        "score_reason": report.score.reason,
        "baseline": report.score.baseline,
        "failure_rate": report.failure_rate,
        "pass": report.passed,
        "benchmarks": [_row(row) for row in report.rows],
        "failures": report.failures,
        "notes": report.notes,
        "warnings": report.warnings,
        "errors": report.errors,
        "findings": report.findings,
        "runs": [_run(run) for run in report.runs],
    }
    return encode_indented(whole).decode()


def _row(row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {"name": row.name}
    for column, value in zip(MAIN_COLUMNS, main_values(row), strict=True):
        values[column.name] = value
    values |= {"unit": row.unit or None, "enabled": row.enabled}
    if row.milabench is not None:
        return {**values, "summary": row.milabench}
    values |= _fields(row.summary)
    values["told"] = {name: _told(told) for name, told in row.told.items()}
    values["processes"] = [_process(process) for process in row.processes]
    if row.monitored:
        state, links = (_lines(table([row])) for table in (devices, traffic))
        values["devices"] = [{**own, **through} for own, through in zip(state, links, strict=True)]
    if energy := energy_of_row(row):
        values["energy"] = {"unit": unit_of_work(row), **_fields(energy)}
    # the data of the other tables in the text report, in full
    if row.ranks or row.tables or row.told:
        values |= {"step_ms": row.step_ms, "mfu": row.used.mfu, "peak": row.used.peak}
        values |= {"ranks": [_rank(rank) for rank in row.ranks], **row.tables}
    return values


def _lines(table: Table) -> list[dict[str, Any]]:
    """The rows of a table of one benchmark, without its name."""
    names = [column.name for column in table.columns[1:]]
    return [dict(zip(names, line[1:], strict=True)) for line in table.rows]


def _told(told: Told) -> dict[str, Any]:
    """A number that programs told, over processes, ranks and repeats."""
    return {"mean": told.mean, "std": told.std, "n": len(told.values)}


def _process(process: ProcessResult) -> dict[str, Any]:
    """A process; ``perf`` and ``std``, in units per second, are those of its steady state."""
    record, series = process.record, process.series
    rates = series.rates if series else ()
    return {
        "run": process.run.name,
        "repeat": record.repeat or None,
        "tag": record.tag,
        "device": record.device,
        "outcome": process.status,
        "reason": process.verdict.reason if process.verdict else "",
        "perf": series.mean if series else None,
        "std": deviation(rates),
        "observations": len(rates),
        "warmup_marked": process.warmup_marked,
        "warmup_detected": process.steady.start,
        "steady": not process.steady.problem,
        "drift": process.steady.change if process.steady.problem else 0.0,
        "seconds": record.seconds,
    }


def _rank(rank: RankSummary) -> dict[str, Any]:
    """A rank, with all that its summary has."""
    return {
        "name": rank.id.name,
        "node": rank.id.node or None,
        "job": rank.id.job,
        "rank": rank.id.rank,
        "steps": rank.steps,
        **rank.times_ms(),
        "shares": rank.shares,
        "part_ms": rank.part_ms,
        "memory_allocated": rank.allocated,
        "memory_reserved": rank.reserved,
    }


def _run(run: RunInfo) -> dict[str, Any]:
    return {**_fields(run), "skipped": [_fields(skipped) for skipped in run.skipped]}


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def prediction_text(found: Sequence[Predicted]) -> str:
    """Predictions as a table."""
    return table_text(prediction_table(found))


def prediction_csv(found: Sequence[Predicted]) -> str:
    """Predictions as CSV, with both ends of their intervals."""
    return csv_text(prediction_columns(found))


FORMATS: Mapping[str, Format] = {
    "text": Format(report_text, table_text, sweep_text, prediction_text),
    "csv": Format(report_csv, csv_text, sweep_csv, prediction_csv),
    "json": Format(report_json, prediction=prediction_json),
}
