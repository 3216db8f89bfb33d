"""Compares the runs of two sides, benchmark by benchmark."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .comparison_model import ANY_CHANGE, WITHIN, ComparedBenchmark, Comparison, Unit
from .differences import side_differences
from .notes import notes_of, what_to_do
from .ratios import Pair, Ratio, ratios
from .sides import Side
from .verdicts import Judged, RatioVerdict, judge


def comparison_of(
    before: Side, after: Side, threshold: float | None = None, history: Side | None = None
) -> Comparison:
    """Compare two sides.

    Args:
        before: the side that the ratios are relative to.
        threshold: the smallest change that counts, as a fraction; None: any does, and what is
            within 3 % is the same.
        history: further runs, which tell how much launches of a benchmark differ.
    """
    change, within = threshold or ANY_CHANGE, threshold or WITHIN
    history = history and history.without(before, after)
    unit = _unit(before, after, history)
    names = list(dict.fromkeys([*before.rows, *after.rows]))
    found = _ratios(names, before, after, history, unit)
    judged = judge(list(found.values()), change, within)
    verdicts = dict(zip(found, judged, strict=True))
    benchmarks = []
    for name in names:
        if name in found:
            made = _compared(name, before, after, unit, found[name], verdicts[name])
        else:
            made = _without_ratio(name, before, after)
        benchmarks.append(replace(made, before=before.rate(name), after=after.rate(name)))
    counts = Counter(each.verdict for each in benchmarks)
    # how runs differ is not known of one on each side: nothing says that another would be slower
    is_known = unit is not Unit.LAUNCH or threshold is not None
    return Comparison(
        before=before.described,
        after=after.described,
        counts={verdict: counts[verdict] for verdict in RatioVerdict},
        regressions=tuple(
            each.name
            for each in benchmarks
            if each.is_lost or (is_known and each.verdict is RatioVerdict.SLOWER)
        ),
        threshold=threshold,
        within=within,
        drawn=unit,
        history=tuple(run.path for run in history.runs) if history else (),
        differences=tuple(side_differences(before, after)),
        benchmarks=tuple(benchmarks),
        notes=tuple(notes_of(before, after, unit, benchmarks)),
    )


def _unit(before: Side, after: Side, history: Side | None) -> Unit:
    if any(side is not None and len(side.runs) > 1 for side in (before, after, history)):
        return Unit.RUN
    return Unit.PAIR if before.took_turns_with(after) and not history else Unit.LAUNCH


def _ratios(
    names: Sequence[str], before: Side, after: Side, history: Side | None, unit: Unit
) -> Mapping[str, Ratio]:
    pairs = {}
    for name in names:
        first, second = before.launches(name, unit), after.launches(name, unit)
        if first and second and before.rows[name].unit == after.rows[name].unit:
            known = history.alike(name, unit) if history else ()
            narrow = math.hypot(before.until(name), after.until(name))
            both = [key for key in first if key in second] if unit is Unit.PAIR else []
            one, other = ([side[key] for key in both or side] for side in (first, second))
            pairs[name] = Pair(one, other, known, narrow, is_paired=bool(both))
    return dict(zip(pairs, ratios(list(pairs.values())), strict=True))


def _compared(
    name: str, before: Side, after: Side, unit: Unit, ratio: Ratio, judged: Judged
) -> ComparedBenchmark:
    which = "over" if ratio.is_repeated else "of these"
    reasons = []
    if judged.verdict is RatioVerdict.CANNOT_TELL:
        reasons.append(what_to_do(ratio, judged, unit))
    for when, side in (("before", before), ("after", after)):
        failed, launches = side.failed_launches(name)
        if failed:
            why = side.why_no_rate(name)
            reasons.append(f"{when}: {failed} of {launches} launches failed ({why})")
    return ComparedBenchmark(
        name,
        judged.verdict,
        before.rows[name].unit,
        reason="; ".join(reasons),
        ratio=ratio.value,
        interval=ratio.interval,
        interval_holds=f"the ratio {which} {unit.several}" if ratio.interval else None,
        unit_std=ratio.noise.std if ratio.is_repeated else None,
        p_value=judged.p_value,
        could_have_seen=judged.could_have_seen,
        needed=judged.needed,
    )


def _without_ratio(name: str, before: Side, after: Side) -> ComparedBenchmark:
    sides = {"before": before, "after": after}
    units = [side.rows[name].unit for side in sides.values() if name in side.rows]
    without = {when: side for when, side in sides.items() if not side.launches(name, Unit.RUN)}
    if not without:
        reason = f"its rate is in {' and in '.join(unit or 'no unit' for unit in units)}"
        return ComparedBenchmark(
            name, RatioVerdict.CANNOT_TELL, units[0], reason=reason, is_lost=True
        )
    was_tried = any(name in side.rows for side in without.values())
    return ComparedBenchmark(
        name,
        RatioVerdict.FAILED if was_tried else RatioVerdict.MISSING,
        units[0],
        reason="; ".join(f"{when}: {side.why_no_rate(name)}" for when, side in without.items()),
        is_lost=list(without) == ["after"] and not after.left_out_on_purpose(name),
    )
