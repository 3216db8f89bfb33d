"""The row of a benchmark: by our own statistics, or by milabench's.

Ours are of the steady state of each process. The rate of a process is its total units over its
total time there. ``perf`` is the mean of these rates over the processes, as in milabench. ``std``
is the standard deviation of all observations in the steady state. ``sem`` is the standard error of
``perf``: within its launch, or over several (see ``interval``). Where the rates have no mean that
tells anything, nothing is made of them: there is the reason instead.

All numbers of a row are of the same steps, those in the steady state, and of the same processes,
those that did not fail.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ..results.records import TABLES, Payload, Record, recorded_weight, unit_of
from . import compat
from .mfu import UNKNOWN, Peaks, utilisation
from .model import Row
from .monitored import host_samples, monitored, samples_in_use
from .process import Processes, counted, per_launch, series_by_launch, units_of, until
from .ranks.rank_summary import summarize_ranks
from .score import machine_rate
from .statistics.interval import interval, pooled_mean, why_no_mean
from .statistics.values import NAN, deviation, largest, ratio
from .told import Told, told_numbers


def summary_row(
    processes: Processes, weight: float | None, missing: int = 0, peaks: Peaks | None = None
) -> Row:
    """The row of a benchmark.

    Args:
        processes: those of the benchmark that left a file; at least one.
        weight: overrides the recorded weight; None keeps it.
        missing: the number of failures that are not failures of these processes.
    """
    records = [process.record for process in processes]
    config = records[-1].config
    measured = counted(processes)
    # rates in several units have no mean: a finding says so
    series = series_by_launch(measured) if len(units_of(measured)) < 2 else []
    rates = array("d")
    for each in chain.from_iterable(series):
        rates.extend(each.rates)
    why_no_rate = why_no_mean(series)
    if why_no_rate:
        series = []
    perf = pooled_mean(series)
    asked = until(processes)
    sure = interval(series, asked)
    fail = missing + sum(process.failed for process in processes)
    memory, source = _peak_memory([process.record for process in measured])
    told = told_numbers(measured)
    return Row(
        name=records[-1].name,
        fail=fail,
        n=len(processes),
        # a process alone on its device tells nothing of the others of its launch
        ngpu=max(1 if each.device is not None else compat.ngpu(each.config) for each in records),
        perf=perf,
        sem=ratio(sure.sem, perf) if sure else NAN,
        std=ratio(deviation(rates), perf),
        peak_memory=memory,
        score=NAN
        if why_no_rate
        else machine_rate(processes) * max(0.0, 1 - missing / len(processes)),
        weight=recorded_weight(config) if weight is None else weight,
        enabled=weight is not None or bool(config.get("enabled", True)),
        unit=unit_of(records),
        interval=(sure.low, sure.high) if sure else None,
        interval_holds=sure.holds if sure else None,
        why_no_rate=why_no_rate,
        until=asked,
        observations=len(rates),
        warmup_marked=sum(process.warmup_marked for process in measured),
        warmup_detected=sum(process.steady.start for process in measured),
        peak_memory_source=None if math.isnan(memory) else source,
        reporting=sum(map(len, series)),
        launches=len(series),
        per_launch=per_launch(processes),
        facts=_facts(measured, told),
        config=config,
        ranks=summarize_ranks((process.record, process.unsteady_of) for process in measured),
        tables=tables_of([process.record for process in measured]),
        used=UNKNOWN if why_no_rate else utilisation(measured, peaks or {}),
        told=told,
        processes=tuple(processes),
        monitored=monitored(processes),
        hosts=host_samples(processes),
    )


def milabench_row(records: Sequence[Record], weight: float | None) -> Row:
    """milabench's row of a benchmark; ``weight`` overrides the recorded one, None keeps it."""
    summary, config = compat.summarize(records), records[-1].config
    perf = summary.train_rate.mean
    failing = summary.failures / max(summary.n, 1)
    whole = sum(rates.mean for rates in summary.per_gpu.values())
    peaks = [load["memory"].max for load in summary.gpu_load.values()]
    return Row(
        name=records[-1].name,
        fail=summary.failures,
        n=summary.n,
        ngpu=summary.ngpu,
        perf=perf,
        sem=ratio(summary.train_rate.sem, perf),
        std=ratio(summary.train_rate.std, perf),
        peak_memory=max(peaks, default=NAN),
        score=(whole if whole > 0 else perf) * (1 - failing),
        weight=recorded_weight(config) if weight is None else weight,
        enabled=weight is not None or bool(config.get("enabled", True)),
        unit=unit_of(records),
        milabench=summary,
    )


def _peak_memory(records: Sequence[Record]) -> tuple[float, str]:
    """The most memory in use on a device in MiB, and the source: ``device`` or ``program``.

    It is the largest sample, which milabench drops as if it were an error of measurement.
    """
    samples = chain.from_iterable(samples_in_use(record).values() for record in records)
    used = largest(sample.used for sample in chain.from_iterable(samples))
    if not math.isnan(used):
        return used, "device"
    return largest(rank.reserved for record in records for rank in record.ranks.values()), "program"


def _facts(processes: Processes, told: Mapping[str, Told]) -> dict[str, Payload]:
    facts: dict[str, dict[str, Any]] = defaultdict(dict)
    for process in processes:
        for group, values in process.record.facts.items():
            facts[group] |= values
    for merged in facts.values():
        merged |= {name: told[name].mean for name in merged if name in told}
    return dict(facts)


def tables_of(records: Sequence[Record]) -> dict[str, tuple[Payload, ...]]:
    tables = {}
    for key in TABLES:
        tables[key] = tuple(chain.from_iterable(each.tables.get(key, ()) for each in records))
    return {key: rows for key, rows in tables.items() if rows}
