"""Makes the part of a document about one benchmark."""

from msgspec import Struct

from ..energy import energy_of_row, unit_of_work
from ..fields import IN_DOCUMENT, Benchmark, values_of
from ..model import Report
from ..monitor_means import device_means, host_means
from ..process import ProcessResult
from ..rank_fields import IN_DOCUMENT as RANK
from ..sentences import commands_of
from ..statistics.values import NAN, deviation
from ..tables.ledger_table import ledger_by_rank, mean_items, ranks_of
from ..told import Told
from .benchmark_report import (
    BenchmarkReport,
    EnergyReport,
    ProcessReport,
    RankReport,
    ToldReport,
)
from .document import filled


def benchmark_report(report: Report, of: Benchmark) -> Struct:
    """All that the document says about a benchmark, as a ``BenchmarkReport``."""
    row = of.row
    energy = energy_of_row(row)
    return BenchmarkReport(
        **values_of(IN_DOCUMENT, of),
        peak=row.used.peak,
        energy=None if energy is None else filled(EnergyReport, energy, unit=unit_of_work(row)),
        ledger_ms=mean_items([items for _, items in ledger_by_rank(row)]),
        ranks=tuple(RankReport(**values_of(RANK, each)) for each in ranks_of(row)),
        processes=tuple(map(_process, row.processes)),
        devices=tuple(device_means(row)),
        hosts=tuple(host_means(row)),
        told={name: _told(told) for name, told in row.told.items()},
        tables=row.tables,
        summary=row.milabench,
        repeat_with=tuple(commands_of(report, row.name)),
    )


def _process(process: ProcessResult) -> ProcessReport:
    record, series, steady = process.record, process.series, process.steady
    rates = series.rates if series else ()
    return ProcessReport(
        run=process.run.name,
        repeat=record.repeat or None,
        tag=record.tag,
        device=record.device,
        outcome=process.status,
        reason=process.verdict.reason if process.verdict else "",
        perf=series.mean if series else NAN,
        std=deviation(rates),
        observations=len(rates),
        warmup_marked=process.warmup_marked,
        warmup_detected=steady.start,
        steady=not steady.problem,
        drift=steady.change if steady.problem else 0.0,
        seconds=record.seconds,
    )


def _told(told: Told) -> ToldReport:
    return ToldReport(told.mean, told.std, len(told.values))
