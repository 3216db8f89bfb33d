"""Makes the part of a document about one benchmark."""

import shlex
from collections.abc import Iterator, Mapping

from ..clocks import held_down, sm_clock
from ..energy import energy_of_row, unit_of_work
from ..failures import CellState
from ..model import Report, Row
from ..monitor_means import device_means, host_means
from ..process import ProcessResult
from ..ranks.rank_summary import RankId
from ..statistics.values import NAN, deviation
from ..sweeps.cell import Cell
from ..sweeps.settings import matrix, nodes_of
from ..tables.ledger_table import Items, ledger_by_rank, mean_items
from ..told import Told
from .benchmark_report import (
    BenchmarkReport,
    EnergyReport,
    ProcessReport,
    RankReport,
    ToldReport,
)
from .document import filled


def benchmark_report(
    report: Report, row: Row, state: CellState, efficiency: Cell
) -> BenchmarkReport:
    """All that the document says about a benchmark.

    Args:
        report: the report that the row is of.
        row: the benchmark.
        state: how it ended, or stands.
        efficiency: its scaling over nodes; without a number where that is not known.
    """
    ledger = dict(ledger_by_rank(row))
    energy = energy_of_row(row)
    devices = row.measuring
    return filled(
        BenchmarkReport,
        row,
        **vars(row.summary),
        state=str(state.word),
        reason=state.reason,
        unit=row.unit or None,
        nodes=nodes_of(row),
        settings=matrix(row),
        efficiency=efficiency.value,
        efficiency_error=efficiency.spread,
        efficiency_note=efficiency.note,
        mfu=row.used.mfu,
        hfu=row.used.hfu,
        peak=row.used.peak,
        sm_clock=sm_clock(devices),
        held_down_by=held_down(devices),
        energy=None if energy is None else filled(EnergyReport, energy, unit=unit_of_work(row)),
        ledger_ms=mean_items(list(ledger.values())),
        ranks=tuple(_ranks(row, ledger)),
        processes=tuple(map(_process, row.processes)),
        devices=tuple(device_means(row)),
        hosts=tuple(host_means(row)),
        told={name: _told(told) for name, told in row.told.items()},
        summary=row.milabench,
        repeat_with=tuple(commands_of(report, row.name)),
    )


def _ranks(row: Row, ledger: Mapping[RankId, Items]) -> Iterator[RankReport]:
    for rank in row.ranks:
        yield RankReport(
            name=rank.id.name,
            node=rank.id.node or None,
            job=rank.id.job,
            rank=rank.id.rank,
            stages=rank.stages,
            steps=rank.steps,
            **rank.times_ms(),
            step_ms_std=rank.std,
            own_part_ms=rank.local,
            shares=rank.shares,
            part_ms=rank.part_ms,
            ledger_ms=ledger.get(rank.id, {}),
            memory_allocated=rank.allocated,
            memory_reserved=rank.reserved,
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


def commands_of(report: Report, name: str) -> Iterator[str]:
    """The commands of bash that run a benchmark again, one for each run that has its script."""
    for run in report.runs:
        if name in run.scripts:
            yield f"bash {shlex.quote(str(run.scripts[name]))}"
