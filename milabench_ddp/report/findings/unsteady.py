"""Findings about the observations of a benchmark: which count, and whether they are steady."""

import math

from ...errors import shown_names
from ...table import given_percent_text, percent_text
from ..model import Row
from ..statistics.interval import FEWEST, ROUNDING
from ..statistics.values import deviation
from .finder import Finds, Found, Measurements, finding, in_some_of

UNMEASURED = 0.02  # of the time of a process
UNSTABLE = 0.1  # the standard deviation of the observations, of their mean


@finding(
    "warning",
    "{place}: {why}{where}: it is shown as -, and is in no score",
    "see what the program counts as its work and its time (a GPU is asynchronous: synchronize it "
    "before the time is taken), or let it warm up for longer",
    section="rate",
    many="{count} benchmarks have no rate, and are in no score: {all}",
    each="{benchmark} ({why})",
)
def no_measurement(row: Row) -> Finds:
    """Rates whose mean tells nothing, because they have no level, or scatter over everything."""
    if why := row.why_no_rate:
        alone = [each for each in row.counted if each.series and each.series.why_no_mean]
        where = in_some_of(alone, row.counted) if alone else ""
        place = alone[0].record.tag if alone else row.name
        yield Found(place, {"processes": len(alone), "why": why}, {"where": where})


@finding(
    "warning",
    "{place}: {problem}{where}",
    "let it warm up for longer",
    section="rate",
    many="the rates of {count} benchmarks still change: {all}",
    each="{benchmark} {change:+.1%}",
    looks_for="rates that still rise or fall",
    among=lambda row: sum(each.series is not None for each in row.counted),
)
def no_steady_state(row: Row) -> Finds:
    """Rates that still rise or fall at the end."""
    if row.why_no_rate:
        return
    # what failed may have become slow because of that
    unsteady = [each for each in row.counted if each.steady.problem and not each.failed]
    if unsteady:
        worst = max(unsteady, key=lambda process: abs(process.steady.change))
        words = {"problem": worst.steady.problem, "where": in_some_of(unsteady, row.counted)}
        evidence = {"unsteady": len(unsteady), "processes": len(row.counted), "change": row.drift}
        advice = ""
        if worst.steady.change < 0:
            advice = "see what slowed it down: heat and clocks (--table devices), other processes"
        yield Found(worst.record.tag, evidence, words, advice=advice)


@finding(
    "warning",
    "{place}: its rate changed between two levels only {often} in {observations} rates, too seldom "
    "to know the share of each: ± is unsure{where}",
    "let it run for longer, or repeat it",
    section="rate",
    many="the rates of {count} benchmarks seldom change between two levels, so ± is unsure: {all}",
)
def bimodal(row: Row) -> Finds:
    """Rates at two levels, each seen too few times to know how much of the time it takes.

    Of several launches, the interval over them tells how unsure that makes the mean.
    """
    counted = row.counted if row.launches == 1 else []
    unsteady = [each for each in counted if each.steady.visits]
    found = [(each.steady.visits, each.observed, each.record.tag) for each in unsteady]
    if found:
        visits, total, tag = min(found)
        evidence = {"worth": visits, "observations": total, "unsteady": len(found)}
        often = f"{visits - 1} times" if visits > 2 else "once"
        yield Found(tag, evidence, {"often": often, "where": in_some_of(found, row.counted)})


@finding(
    "warning",
    "its rate {known} alone, and --until asked for ±{asked}[: {problem}]",
    "give it more launches (--repeat), or longer ones",
)
def until_not_reached(row: Row) -> Finds:
    """An interval that is wider than ``run --until`` asked, after all launches that it may have."""
    runs = [process.run for process in row.processes]
    states = [run.benchmark(row.name) for run in runs]
    asked = [state.repeats for state in states if state and state.status.has_ended]
    wanted = min((each.until for each in asked if each.until is not None), default=None)
    width = row.half_width_over_launches
    if wanted is None or width <= wanted * (1 + ROUNDING):
        return
    is_known = not math.isnan(width)
    known = f"is known to ±{percent_text(width, wanted)}" if is_known else "has no ±"
    problem = next((each.problem for each in asked if each.problem), "")
    yield Found(
        "",
        {"half_width": width if is_known else None, "until": wanted},
        words={"known": known, "asked": given_percent_text(wanted), "problem": problem},
    )


# Steps that differ are no mistake: the interval of the mean tells what they cost.
@finding(
    "note",
    "{place}: its rates scatter by {std:.0%} around their mean{where}",
    "see what else runs there, and how long each step is",
    section="rate",
    many="the rates of {count} benchmarks scatter: {all}",
    each="{benchmark} {std:.0%}",
)
def unstable(row: Row) -> Finds:
    """Observations that differ by a tenth and more from one to the next, where there are many."""
    found = []
    for process in () if row.why_no_rate else row.counted:
        if process.series is not None and process.observed >= FEWEST:
            spread = deviation(process.series.rates) / process.series.mean
            if spread > UNSTABLE:
                found.append((spread, process.record.tag))
    if found:
        spread, tag = max(found)
        yield Found(
            tag,
            evidence={"std": spread, "unstable": len(found)},
            words={"where": in_some_of(found, row.counted)},
        )


@finding(
    "note",
    "{place}: {share:.1%} of its time is between the measured steps, and in no rate "
    "({seconds:.3g} of {of:.3g} s){where}",
    "measure it in the rate if it is part of the training",
    section="rate",
    many="time between the measured steps, and in no rate, in {count} benchmarks: {all}",
)
def time_between_observations(row: Row) -> Finds:
    """Time that no rate measures, such as that of a validation."""
    found = []
    for process in row.processes:
        seconds, total = process.between
        if seconds > UNMEASURED * total:
            found.append((seconds / total, seconds, total, process.record.tag))
    if found:
        share, seconds, total, tag = max(found)
        yield Found(
            tag,
            {"seconds": seconds, "of": total},
            words={"share": share, "where": in_some_of(found, row.processes)},
        )


@finding(
    "note",
    "{left_out} of its {observations} rates[, in {several} processes,] are left out: it still "
    "warmed up",
    section="rate",
    many="rates left out in {count} benchmarks, which still warmed up: {all}",
    each="{benchmark} {left_out} of {observations}",
)
def start_up_left_out(row: Row) -> Finds:
    if left_out := row.warmup_detected:
        several = len(row.counted) if len(row.counted) > 1 else None
        total = left_out + row.observations
        yield Found("", {"left_out": left_out, "observations": total}, {"several": several})


@finding(
    "note",
    "no ± for fewer than {fewest} rates: {shown}",
    "let them run for longer, or repeat",
)
def few_observations(measured: Measurements) -> Finds:
    """Benchmarks of one launch that measured too little for an interval, all in one sentence."""
    found = {}
    for row in measured.rows:
        if row.launches == 1 and row.interval is None:
            series = [each.series for each in row.counted if each.series is not None]
            found[row.name] = min(each.measured for each in series)
    if found:
        shown = shown_names([f"{name} {count}" for name, count in found.items()])
        yield Found("", {"observations": found}, {"fewest": FEWEST, "shown": shown})
