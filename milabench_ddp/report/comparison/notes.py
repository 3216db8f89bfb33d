"""The sentences of a comparison: what limits its verdicts, and what to run for better ones."""

import math
import statistics
from collections.abc import Iterator, Sequence

from ...errors import shown_names
from ..pooling import has_local_changes
from .model import ComparedBenchmark, Unit
from .ratios import Ratio
from .sides import Side
from .verdicts import MOST_LAUNCHES, Judged

REPEATS = 5  # launches that tell how much they differ
SHOWN = 5  # benchmarks in a sentence


def what_to_do(ratio: Ratio, judged: Judged, unit: Unit) -> str:
    """What would give a verdict on a benchmark that has none."""
    if not ratio.is_repeated:
        return f"one launch each does not tell how much launches differ: run --repeat {REPEATS}"
    if judged.needed is None:
        differ = f"{unit.several} differ by {ratio.noise.std:.1%}"
        return f"{differ}: {MOST_LAUNCHES} on each side are too few"
    # what is near the threshold needs more than what did not change at all
    count = max(judged.needed, 2 * max(ratio.launches))
    if unit is Unit.RUN:
        return f"compare {count} runs on each side"
    return f"run --repeat {count} on each side"


def notes_of(
    before: Side, after: Side, unit: Unit, benchmarks: Sequence[ComparedBenchmark]
) -> Iterator[str]:
    """What to know about the numbers of a comparison."""
    spreads = [each.unit_std for each in benchmarks if each.unit_std is not None]
    if spreads:
        middle = statistics.median(spreads)
        yield f"{unit.several} of the median benchmark differ by {middle:.1%} (standard deviation)"
    if any(each.ratio is not None and each.unit_std is None for each in benchmarks):
        yield "the interval of one launch each holds the ratio of these two launches alone"
    shared = {run.path.resolve() for run in before.runs} & {r.path.resolve() for r in after.runs}
    if shared:
        yield f"both sides have {shown_names(sorted(map(str, shared)), SHOWN)}"
    for when, side in (("before", before), ("after", after)):
        yield from _of_side(when, side)


def _of_side(when: str, side: Side) -> Iterator[str]:
    moving = [row.name for row in side.rows.values() if not math.isnan(row.drift)]
    if moving:
        yield f"{when}: {shown_names(moving, SHOWN)}: no steady state: `milabench report` has more"
    going_on = [str(run.path) for run in side.runs if run.goes_on]
    if going_on:
        yield f"{when}: {shown_names(going_on, SHOWN)} has not ended"
    if any(map(has_local_changes, side.runs)):
        yield f"{when}: milabench had local changes, which no commit has"
