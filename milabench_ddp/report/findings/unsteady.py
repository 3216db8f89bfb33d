"""Findings about the observations of a benchmark: which count, and whether they are steady."""

import math

from ...errors import shown_names
from ...table import given_percent_text, percent_text
from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..statistics.interval import FEWEST, ROUNDING
from ..statistics.values import deviation
from .finder import Measurements, in_some_of

UNMEASURED = 0.02  # of the time of a process
UNSTABLE = 0.1  # the standard deviation of the observations, of their mean


def no_steady_state(row: Row) -> Findings:
    """Rates that still rise or fall at the end."""
    processes = counted(row.processes)
    # what failed may have become slow because of that
    unsteady = [each for each in processes if each.steady.problem and not each.failed]
    if unsteady:
        worst = max(unsteady, key=lambda process: abs(process.steady.change))
        tag, count = worst.record.tag, len(processes)
        sentence = f"{tag}: {worst.steady.problem}{in_some_of(len(unsteady), count)}"
        evidence = {"unsteady": len(unsteady), "processes": count, "change": row.drift}
        advice = "let it warm up for longer"
        if worst.steady.change < 0:
            advice = "see what slowed it down: heat and clocks (--table devices), other processes"
        yield Finding(sentence, place=tag, evidence=evidence, advice=advice)


def bimodal(row: Row) -> Findings:
    """Rates at two levels, each seen too few times to know how much of the time it takes.

    Of several launches, the interval over them tells how unsure that makes the mean.
    """
    if row.summary.launches > 1:
        return
    found = []
    processes = counted(row.processes)
    for process in processes:
        if process.steady.visits:
            found.append((process.steady.visits, process.observed, process.record.tag))
    if found:
        visits, total, tag = min(found)
        sentence = (
            f"{tag}: rates move slowly between two levels: its {total} observations are worth "
            f"about {visits} independent ones, so the interval is unsure"
            f"{in_some_of(len(found), len(processes))}"
        )
        evidence = {"worth": visits, "observations": total, "unsteady": len(found)}
        yield Finding(sentence, place=tag, evidence=evidence)


def until_not_reached(row: Row) -> Findings:
    """An interval that is wider than ``run --until`` asked, after all launches that it may have."""
    runs = {process.run.path: process.run for process in row.processes}
    states = [run.state.benchmarks.get(row.name) for run in runs.values() if run.state]
    asked = [state.repeats for state in states if state and state.status.has_ended]
    wanted = min((each.until for each in asked if each.until is not None), default=None)
    width = row.half_width_over_launches
    if wanted is None or width <= wanted * (1 + ROUNDING):
        return
    is_known = not math.isnan(width)
    sentence = "its rate has no ±"
    if is_known:
        sentence = f"its rate is known to ±{percent_text(width, wanted)}"
    sentence += f" alone, and --until asked for ±{given_percent_text(wanted)}"
    evidence = {"half_width": width if is_known else None, "until": wanted}
    problems = [each.problem for each in asked if each.problem]
    if problems:
        sentence += f": {problems[0]}"
    yield Finding(sentence, evidence=evidence)


def unstable(row: Row) -> Findings:
    """Observations that differ by a tenth and more from one to the next, where there are many."""
    found = []
    processes = counted(row.processes)
    for process in processes:
        if process.series is not None and process.observed >= FEWEST:
            spread = deviation(process.series.rates) / process.series.mean
            if spread > UNSTABLE:
                found.append((spread, process.record.tag))
    if found:
        spread, tag = max(found)
        where = in_some_of(len(found), len(processes))
        sentence = f"{tag}: unstable: its observations vary by {spread:.0%}{where}"
        yield Finding(sentence, place=tag, evidence={"std": spread, "unstable": len(found)})


def time_between_observations(row: Row) -> Findings:
    """Time that no rate measures, such as that of a validation."""
    found = []
    for process in row.processes:
        seconds, total = process.between
        if seconds > UNMEASURED * total:
            found.append((seconds / total, seconds, total, process.record.tag))
    if found:
        share, seconds, total, tag = max(found)
        sentence = (
            f"{tag}: {share:.1%} of its time is between observations, and in no rate "
            f"({seconds:.3g} of {total:.3g} s){in_some_of(len(found), len(row.processes))}"
        )
        yield Finding(sentence, place=tag, evidence={"seconds": seconds, "of": total})


def start_up_left_out(row: Row) -> Findings:
    """Observations before the steady state, which are left out of all numbers."""
    left_out = row.summary.warmup_detected
    if left_out:
        total = left_out + row.summary.observations
        count = len(counted(row.processes))
        of = f" of {count} processes" if count > 1 else ""
        sentence = f"{left_out} of {total} observations{of} left out: before steady state"
        yield Finding(sentence, evidence={"left_out": left_out, "observations": total})


def few_observations(measured: Measurements) -> Findings:
    """Benchmarks of one launch that measured too little for an interval, all in one sentence."""
    found = {}
    for row in measured.rows:
        series = [each.series for each in counted(row.processes) if each.series is not None]
        if row.summary.launches == 1 and row.summary.interval is None:
            found[row.name] = min(each.measured for each in series)
    if found:
        shown = shown_names([f"{name} {count}" for name, count in found.items()])
        sentence = f"no ± within a launch of fewer than {FEWEST} observations: {shown}"
        yield Finding(sentence, evidence={"observations": found})
