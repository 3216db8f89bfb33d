"""The sentences of a comparison: what limits its verdicts, and what to run for better ones."""

import statistics
from collections.abc import Iterator, Sequence

from ...errors import shown_names
from ..finding import Severity
from ..pooling import has_local_changes
from .comparison_model import ComparedBenchmark, Unit
from .ratios import FEWEST, Ratio
from .sides import Side
from .verdicts import MOST_LAUNCHES, Judged

REPEATS = 5  # launches that tell how much they differ
SHOWN = 5  # benchmarks or runs in a sentence, warnings of a side
TOLD_ELSEWHERE = ("failed", "missing_records", "few_observations")  # findings


def what_to_do(ratio: Ratio, judged: Judged, unit: Unit) -> str:
    more = f"compare {{}} {unit.several}" if unit is Unit.RUN else "run --repeat {}"
    if not ratio.can_be_judged:
        few = f"one {unit} each does" if ratio.launches == (1, 1) else f"fewer than {FEWEST} do"
        several = f"{few} not tell how much {unit.several} differ"
        return f"{several}: {more.format(REPEATS)} on each side"
    if judged.needed is None:
        differ = f"{unit.several} differ by {ratio.noise.std:.1%}"
        return f"{differ}: {MOST_LAUNCHES} on each side are too few"
    # what is near the threshold needs more than what did not change at all
    count = max(judged.needed, 2 * max(ratio.launches))
    return f"{more.format(count)} on each side"


def notes_of(
    before: Side, after: Side, unit: Unit, benchmarks: Sequence[ComparedBenchmark]
) -> Iterator[str]:
    spreads = [each.unit_std for each in benchmarks if each.unit_std is not None]
    if spreads:
        middle = statistics.median(spreads)
        yield f"{unit.several} of the median benchmark differ by {middle:.1%} (standard deviation)"
    if any(each.ratio is not None and each.unit_std is None for each in benchmarks):
        yield f"the interval of one {unit} each holds the ratio of these two {unit.several} alone"
    shared = {run.path.resolve() for run in before.runs} & {r.path.resolve() for r in after.runs}
    if shared:
        yield f"both sides have {shown_names(sorted(map(str, shared)), SHOWN)}"
    elif unit is Unit.PAIR:
        yield "launches took turns, so they are compared in pairs: what drifts is in both of a pair"
    elif unit is Unit.LAUNCH and spreads:
        yield (
            "one run on each side: the verdicts are between these two runs, and how runs differ is "
            "not known; what changes from run to run, such as the hour and other users, is in the "
            "ratios; several runs on each side, in turn, take it out"
        )
    if any(map(has_local_changes, (*before.runs, *after.runs))):
        yield "milabench had local changes, which no commit tells"
    yield from _of_side("before", before, after)
    yield from _of_side("after", after, before)


def _of_side(when: str, side: Side, other: Side) -> Iterator[str]:
    going_on = [str(run.path) for run in side.runs if run.goes_on]
    if going_on:
        yield f"{when}: {shown_names(going_on, SHOWN)} has not ended"
    known = {(found.name, found.benchmark) for found in other.report.findings}
    own = []
    for found in side.report.findings:
        is_new = (found.name, found.benchmark) not in known and found.name not in TOLD_ELSEWHERE
        if is_new and found.severity is not Severity.NOTE:
            own.append(found.sentence)
    yield from (f"only {when}: {sentence}" for sentence in own[:SHOWN])
    if len(own) > SHOWN:
        yield f"only {when}: {len(own) - SHOWN} more warnings: see `milabench report`"
