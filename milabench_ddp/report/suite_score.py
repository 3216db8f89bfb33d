"""The score of a suite: the weighted geometric mean of the scores of its benchmarks.

    exp(sum(weight * log(score)) / sum(weight))

To a baseline, it is that of the ratios to its scores, which have no unit. It is the only mean of
ratios that does not depend on which of two runs is the baseline (P. J. Fleming and J. J. Wallace,
"How not to lie with statistics", CACM 29(3), 1986). A benchmark that failed as a whole has a score
of 0, and so has its suite: this is where the mean goes as devices die one after another. That of
the others stands beside it. A part of a suite has no score, because another part has another.

The error of a mean is made of the half widths of the 95 % intervals of its benchmarks' rates, as
fractions and as independent errors: ``sqrt(sum((weight * h)^2)) / sum(weight)``; that of a ratio
has those of both runs. Of single launches they are within the launch: a rerun can differ by more.
For a rate without an interval stands the standard deviation of its observations, which is larger
than the error of their mean.

Work for a watt is the score over the power of the devices.
"""

import math
from collections.abc import Container, Iterable, Sequence
from operator import mul

from ..config.schema import SkipKind
from ..errors import shown_names
from ..events import Outcome
from .energy import energy_of_row
from .model import Report, Row, Rows
from .run_info import RunInfo
from .score import BenchmarkScore, Score
from .statistics.values import NAN

SHOWN = 3  # names in a reason


def suite_score(
    rows: Rows,
    runs: Sequence[RunInfo],
    baseline: Report | None = None,
    enabled: Container[str] = (),
) -> Score:
    """The score of a suite, or the reason why there is none.

    Args:
        baseline: the report on the run that the score is relative to; None without one.
        enabled: the benchmarks of the suite; empty: all that were not disabled.
    """
    counting = [row for row in rows if row.weight > 0 and row.enabled]
    no_rates = tuple(row.name for row in counting if row.why_no_rate)
    reason = _why_none(rows, counting, runs, enabled, no_rates)
    path = baseline.runs[0].path if baseline else None
    if not reason and baseline is not None:
        reason = _why_no_ratios(counting, runs, baseline)
    if reason:
        return Score(reason=reason, baseline=path, no_rates=no_rates)
    theirs = {row.name: row for row in baseline.rows} if baseline else {}
    scores = []
    errors = []
    for row in counting:
        score = 0.0 if math.isnan(row.score) else row.score
        error, unsure, per_watt = row.half_width, row.uncertainty, _per_watt(row)
        if baseline is not None:
            base = theirs[row.name]
            score /= base.score
            error = math.hypot(error, base.half_width)
            unsure = math.hypot(unsure, base.uncertainty)
            per_watt /= _per_watt(base)
        if score > 0:
            errors.append(row.weight * unsure)
        scores.append(
            BenchmarkScore(row.name, row.unit, row.weight, score, score * error, per_watt)
        )
    known = [each for each in scores if each.score > 0]
    total = math.fsum(each.weight for each in known)
    failed = tuple(each.name for each in scores if not each.score)
    mean = _mean((each.weight, each.score) for each in known)
    return Score(
        0.0 if failed else mean,
        baseline=path,
        benchmarks=tuple(scores),
        failed=failed,
        of_others=mean,
        half_width=math.hypot(*errors) / total,
        per_watt=_mean((each.weight, each.per_watt) for each in scores if each.per_watt > 0),
    )


def _mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The geometric mean of values, each behind its weight; NaN without any."""
    known = list(weighted)
    if not known:
        return NAN
    logs = math.fsum(weight * math.log(value) for weight, value in known)
    return math.exp(logs / math.fsum(weight for weight, _ in known))


def _per_watt(row: Row) -> float:
    energy = energy_of_row(row)
    return row.score / energy.watts if energy is not None and energy.watts > 0 else NAN


def _why_none(
    rows: Rows,
    counting: Rows,
    runs: Sequence[RunInfo],
    enabled: Container[str],
    no_rates: Sequence[str],
) -> str:
    if all(math.isnan(row.perf) for row in rows):
        return "nothing was measured"
    if any(run.outcome is None for run in runs):
        return "the run has not ended"
    if any(run.outcome == Outcome.CANCELLED for run in runs):
        return "the run was cancelled"
    if not counting:
        return "no benchmark has a weight"
    if no_rates:
        are = "is" if len(no_rates) == 1 else "are"
        return f"{shown_names(no_rates, SHOWN)} {are} no measurement"
    if not any(row.score > 0 for row in counting):
        return "every benchmark failed"
    left_out = _left_out(rows, runs, enabled)
    if left_out:
        name, why = next(iter(left_out.items()))
        names = shown_names(list(left_out), SHOWN)
        return f"only a part of the suite was run, without {names} ({name}: {why})"
    return ""


def _left_out(rows: Rows, runs: Sequence[RunInfo], enabled: Container[str]) -> dict[str, str]:
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
    presets = {run.preset for run in (*runs, *baseline.runs)} - {""}
    if len(presets) > 1:
        return f"the baseline has another preset ({' and '.join(sorted(presets))})"
    names, theirs = {row.name for row in counting}, {row.name: row for row in baseline.rows}
    also = {name for name, row in theirs.items() if row.score > 0}
    asked = {name for name in also if theirs[name].weight > 0}
    if one_sided := sorted((names - also) | (asked - names)):
        return f"only one of both runs measured {shown_names(one_sided, SHOWN)}"
    for row in counting:
        unit = theirs[row.name].unit
        if row.unit and row.unit != unit:  # what failed before its first rate has none
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
