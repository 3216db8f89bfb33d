"""The score of a benchmark, and that of a suite.

The score of a benchmark is the speed of the whole machine in it: what failed counts as 0. The score
of a suite is the weighted geometric mean of ratios, which has no unit:

    exp(sum(weight * log(score / score in the baseline)) / sum(weight))

It is the only mean of ratios that does not depend on which of two runs is the baseline (P. J.
Fleming and J. J. Wallace, "How not to lie with statistics", CACM 29(3), 1986). A part of a suite
has no score, because another part has another.
"""

import math
from collections import defaultdict
from collections.abc import Container, Sequence
from operator import mul

from ..config.schema import SkipKind
from ..errors import shown_names
from .model import Report, Rows, Score
from .process import Processes, ProcessResult, is_bandwidth, units_of
from .ranks.rank_summary import rank_id
from .run_info import RunInfo
from .statistics.values import NAN, mean

SHOWN = 3  # names in a reason
Place = tuple[str, int, int]  # the node, the job, and the device of a process alone on it


def machine_rate(processes: Processes) -> float:
    """Units per second of all devices together, in which a process that failed counts as 0.

    It is the sum over jobs, or over devices that run a process each, of the mean over launches; NaN
    if nothing was measured, or in several units. Bandwidths do not add up: theirs is the mean over
    jobs.
    """
    failed_jobs = {_job(process) for process in processes if process.failed}
    rates: dict[Place, list[float]] = defaultdict(list)
    for process in processes:
        if not process.record.reports:
            continue
        if _job(process) in failed_jobs:
            rates[_place(process)].append(0.0)
        elif process.series is not None:
            rates[_place(process)].append(process.series.mean)
    if all(process.series is None for process in processes) or len(units_of(processes)) > 1:
        return NAN
    of_jobs = [mean(found) for found in rates.values()]
    return mean(of_jobs) if is_bandwidth(processes) else math.fsum(of_jobs)


def _place(process: ProcessResult) -> Place:
    id = rank_id(process.record, 0)
    if process.record.device is None:  # the processes of a job on several nodes are one
        return "", id.job, 0
    return id.node, 0, id.rank


def _job(process: ProcessResult) -> tuple[object, ...]:
    return *process.launch, *_place(process)


def suite_score(
    rows: Rows, runs: Sequence[RunInfo], baseline: Report | None, enabled: Container[str] = ()
) -> Score:
    """The score of a suite, or the reason why there is none.

    Args:
        rows: the benchmarks.
        runs: the runs that they are from.
        baseline: the report on the run that the score is relative to; None without one.
        enabled: the benchmarks of the suite; empty: all that were not disabled.
    """
    counting = [row for row in rows if row.weight > 0 and row.enabled]
    reason = _why_none(rows, counting, runs, enabled)
    if reason:
        return Score(reason=reason, baseline=baseline.runs[0].path if baseline else None)
    if baseline is None:
        return Score(reason="it is relative to a baseline run: name one with --baseline RUN")
    path = baseline.runs[0].path
    reason = _why_no_ratios(counting, runs, baseline)
    if reason:
        return Score(reason=reason, baseline=path)
    known = {row.name: row.score for row in baseline.rows}
    total = math.fsum(row.weight for row in counting)
    logs = (row.weight * math.log(row.score / known[row.name]) for row in counting)
    return Score(math.exp(math.fsum(logs) / total), baseline=path)


def _why_none(rows: Rows, counting: Rows, runs: Sequence[RunInfo], enabled: Container[str]) -> str:
    """Why these benchmarks have no score of a whole suite; empty if they have."""
    if all(math.isnan(row.perf) for row in rows):
        return "nothing was measured"
    if any(run.outcome is None for run in runs):
        return "the run has not ended"
    if not counting:
        return "no benchmark has a weight"
    without = [row.name for row in counting if not row.score > 0]
    if len(without) == len(counting):
        return "every benchmark failed"
    if without:
        return f"{shown_names(without, SHOWN)} failed, or measured nothing"
    left_out = _left_out(rows, runs, enabled)
    if left_out:
        name, why = next(iter(left_out.items()))
        names = shown_names(list(left_out), SHOWN)
        return f"only a part of the suite was run, without {names} ({name}: {why})"
    return ""


def _left_out(rows: Rows, runs: Sequence[RunInfo], enabled: Container[str]) -> dict[str, str]:
    """The benchmarks of the suite that no run measured, each with the reason."""
    measured = {row.name for row in rows}
    left_out: dict[str, str] = {}
    for run in runs:
        for skipped in run.skipped:
            is_of_the_suite = skipped.kind is not SkipKind.DISABLED
            if enabled:
                is_of_the_suite = skipped.name in enabled
            if is_of_the_suite and skipped.name not in measured:
                left_out[skipped.name] = skipped.reason
    return left_out


def _why_no_ratios(counting: Rows, runs: Sequence[RunInfo], baseline: Report) -> str:
    """Why there are no ratios to the baseline; empty if each benchmark has one."""
    presets = {run.preset for run in (*runs, *baseline.runs)} - {""}
    if len(presets) > 1:
        return f"the baseline has another preset ({' and '.join(sorted(presets))})"
    theirs = {row.name: row for row in baseline.rows if row.score > 0}
    missing = [row.name for row in counting if row.name not in theirs]
    if missing:
        return f"the baseline did not measure {shown_names(missing, SHOWN)}"
    names = {row.name for row in counting}
    more = [row.name for row in theirs.values() if row.weight > 0 and row.name not in names]
    if more:
        return f"only the baseline measured {shown_names(more, SHOWN)}"
    for row in counting:
        unit = theirs[row.name].unit
        if row.unit != unit:
            return f"{row.name} is in {row.unit}, and in the baseline in {unit}"
    return ""


def milabench_score(rows: Rows) -> Score:
    """milabench's: the weighted geometric mean of the scores plus 1; one that is NaN counts as 0.

    So milabench's score is 1 where nothing was measured; here there is none.
    """
    if all(math.isnan(row.perf) for row in rows):
        return Score(reason="nothing was measured")
    weights = [row.weight * row.enabled for row in rows]
    total = math.fsum(weights)
    if not total:
        return Score(reason="no benchmark has a weight")
    logs = [_log_plus_one(row.score) for row in rows]
    return Score(math.exp(math.fsum(map(mul, weights, logs)) / total))


def _log_plus_one(score: float) -> float:
    if math.isnan(score):
        return 0.0
    return math.log1p(score) if score > -1 else NAN
