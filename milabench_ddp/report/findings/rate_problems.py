"""Findings about the rates that programs wrote: those that do not count, or that have no mean."""

import math

from ...events import Status
from ...grouping import grouped
from ..model import Row
from ..process import series_by_launch, units_of
from ..ranks.stragglers import SURE
from ..statistics.interval import interval, pooled_mean
from .finder import Finds, Found, finding
from .run_differences import APART

APART_BY = 0.05  # launches of the same benchmark differ by 1 to 2 %
SINGLE = f"the {APART_BY:.0%} that single launches may be"


@finding("warning", "its rates have several units, so they have no mean: {units}", APART)
def several_units(row: Row) -> Finds:
    units = units_of(row.counted)
    if len(units) > 1:
        yield Found("", {"values": units}, {"units": ", ".join(units)})


@finding(
    "warning",
    "the pooled runs are {apart:.1%} apart, more than {allowed}: {slowest:.5g} ({slow_run}), "
    "{fastest:.5g} ({fast_run})[ {unit}]",
    APART,
    section="rate",
)
def different_speeds(row: Row) -> Finds:
    """Pooled runs whose speeds differ by more than launches do.

    How much those differ is known of runs with several launches alone: the steps within a launch
    do not show it.
    """
    if math.isnan(row.perf):
        return
    speeds = []
    runs = grouped((str(process.run.path), process) for process in row.counted)
    for folder, processes in runs.items():
        if launches := series_by_launch(processes):
            sure = interval(launches) if len(launches) > 1 else None
            speeds.append((pooled_mean(launches), sure.sem if sure else 0.0, folder))
    if len(speeds) < 2:
        return
    slow, slow_sem, slow_run = min(speeds)
    fast, fast_sem, fast_run = max(speeds)
    if fast - slow <= max(APART_BY * fast, SURE * math.hypot(slow_sem, fast_sem)):
        return
    allowed = "chance" if slow_sem and fast_sem else SINGLE
    yield Found(
        "",
        {"slowest": slow, "fastest": fast, "apart": (fast - slow) / fast},
        words={"allowed": allowed, "slow_run": slow_run, "fast_run": fast_run, "unit": row.unit},
    )


@finding(
    "warning", "{place}: {missing} was measured yet", "let it run for longer", layer="ensure_rate"
)
def nothing_measured(row: Row) -> Finds:
    """Processes that still run, but have no rate outside of warm-up; ended ones have failed."""
    for process in row.processes:
        if process.status is Status.RUNNING and process.series is None and process.record.reports:
            missing = "only warm-up" if process.warmup_marked else "no training rate"
            yield Found(process.record.tag, words={"missing": missing})


@finding(
    "warning",
    "{place}: {left_out} of {rates} rates left out: {flaws}",
    "mend the lines that the program writes",
    section="rate",
)
def unusable_rates(row: Row) -> Finds:
    """Rates that are left out of all numbers, beside others that count."""
    for process in row.processes:
        told = process.record.told
        left_out = told.unusable + told.untasked
        if told.usable and left_out:
            yield Found(
                process.record.tag,
                evidence={"left_out": left_out, "rates": left_out + told.usable + told.warmup},
                words={"flaws": told.flaws},
            )


@finding(
    "warning",
    "{place}: its rates do not tell their `rank`, and $MILABENCH_METRICS was opened for "
    "each line: if several ranks wrote them, perf is not the rate of all",
    'add "rank" to each line',
)
def unknown_writers(row: Row) -> Finds:
    for process in row.processes:
        if process.record.told.reopened:
            yield Found(process.record.tag)
