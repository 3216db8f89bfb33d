"""Makes the document of a report."""

from collections.abc import Iterator

from ..failures import CellState, cell_state
from ..fields import Benchmark
from ..model import Report
from ..sentences import verdict
from ..sweeps.cell import Cell
from ..sweeps.efficiency import efficiencies
from ..sweeps.metrics import EFFICIENCY
from ..sweeps.sweep import Sweep, is_usable, sweeps_of
from .make_benchmark import benchmark_report
from .report_document import CellReport, LineReport, ReportDocument, SweepReport

SWEPT = ("throughput", "latency", EFFICIENCY)
"""The metrics of which a document has the tables."""


def benchmarks_of(report: Report) -> list[Benchmark]:
    """The benchmarks of a report, with what it knows of each."""
    states = {row.name: cell_state(report, row) for row in report.rows}
    scaling: dict[str, Cell] = {}
    if not report.compat:
        scaling = efficiencies(report.rows, lambda row: is_usable(row, states[row.name]))
    found = []
    for row in report.rows:
        state = states[row.name] or CellState("ok")
        cell = scaling.get(row.name, Cell())
        found.append(Benchmark(row, state, cell.value, cell.spread, cell.note))
    return found


def document_of(report: Report) -> ReportDocument:
    """The document that has all that a report says."""
    benchmarks = [benchmark_report(report, of) for of in benchmarks_of(report)]
    return ReportDocument(
        compat=report.compat,
        verdict=verdict(report),
        passed=report.passed,
        goes_on=report.goes_on,
        failure_rate=report.failure_rate,
        score=report.score.value,
        score_error=report.score.value * report.score.half_width,
        score_reason=report.score.reason,
        baseline=report.score.baseline,
        score_failed=report.score.failed,
        score_of_others=report.score.of_others,
        score_per_watt=report.score.per_watt,
        scores=report.score.benchmarks,
        findings=report.findings,
        errors=report.errors,
        warnings=report.warnings,
        notes=report.notes,
        runs=report.runs,
        benchmarks=tuple(benchmarks),
        failures=report.failures,
        sweeps=tuple(_sweeps(report)),
    )


def _sweeps(report: Report) -> Iterator[SweepReport]:
    for metric in () if report.compat else SWEPT:
        for sweep in sweeps_of(report, metric):
            yield SweepReport(
                name=sweep.name,
                metric=sweep.metric,
                meaning=sweep.meaning,
                settings=sweep.layout.corner,
                columns=sweep.columns,
                lines=tuple(_lines(sweep)),
            )


def _lines(sweep: Sweep) -> Iterator[LineReport]:
    for title in sweep.blocks:
        for label, cells in sweep.lines(title):
            found = map(_cell, sweep.columns, cells)
            yield LineReport(title, label, tuple(found))


def _cell(column: str, cell: Cell) -> CellReport:
    return CellReport(
        column, cell.benchmark, cell.value, cell.spread, cell.stdev, cell.text, cell.note
    )
