"""Findings about the steps of ranks: exposed communication, pauses that recur, pipelines."""

import math
from statistics import median

from ...numerics import np
from ..model import Row
from ..ranks.jitter import jitters
from ..ranks.ledger import LaunchTimes
from ..ranks.pipelines import stages_text
from ..ranks.rank_summary import labels, rank_id, rank_launches
from ..statistics.values import mean
from .finder import Finds, Found, Looked, finding
from .what_if import condition, faster, gain_text, launches_of, numbers_of

# By how much steps would be faster without it, at the lower end of the interval. In published runs
# 1 to 8 % of a step are exposed; waits for data and for the host are told from a tenth on, too.
MOST_EXPOSED = 0.1
FEWEST_STEPS = 10
HIDDEN = "hidden_communication_ms"  # as the programs tell it
LEAST_PAUSES = 0.002  # of the time
EXACT = 0.5  # steps: distances that differ by less are equal
LEAST_COLLECTIONS = 0.005  # of the time of a rank: then all ranks wait for it
LEAST_UNEVEN = 0.05  # of a step


def _ranks_that_communicate(row: Row) -> Looked:
    counts = [times.exposed.shape for times in launches_of(row)]
    if counts and min(steps for _, steps in counts) < FEWEST_STEPS:
        return f"fewer than {FEWEST_STEPS} steps"
    return max((ranks for ranks, _ in counts), default=0)


@finding(
    "warning",
    "{share:.0%} of each step is communication that nothing hides ({exposed_ms:.3g} of {step:.3g} "
    "ms, of which {waiting_ms:.3g} are waits for slower ranks)[; the backward pass hides "
    "{hidden:.3g} ms more]; if all of it were hidden, steps would be {gain}{condition}",
    "give a step more work (larger batches, --accumulate), or try larger buckets"
    " (--bucket-cap-mb) or a faster network",
    section="ledger",
    is_traced=True,
    costs="faster",
    many="communication that nothing hides in {count} benchmarks: {all}",
    each="{benchmark} {share:.0%} of a step (if it were hidden: {gain})",
    looks_for="communication that nothing hides",
    among=_ranks_that_communicate,
)
def exposed_communication(row: Row) -> Finds:
    """A benchmark that would be more than a tenth faster if all of its communication were hidden.

    That gain does not heed the waits for slower ranks, which are exposed, too: they would stay.
    Pipelines have bubbles instead.
    """
    launches = launches_of(row)
    fewest = min((times.exposed.shape[1] for times in launches), default=0)
    if fewest < FEWEST_STEPS or any(times.pipelines.size > 1 for times in launches):
        return
    gain = faster(launches, LaunchTimes.hidden_steps)
    if not float(gain) - gain.error > MOST_EXPOSED:
        return
    communication = mean(float(times.communication.mean()) for times in launches)
    exposed = mean(float(times.exposed.mean()) for times in launches)
    step = mean(float(times.whole.mean()) for times in launches)
    waiting = exposed - communication
    hidden = row.told_mean(HIDDEN)
    yield Found(
        evidence={
            "share": exposed / step,
            "exposed_ms": exposed,
            "hidden_ms": hidden,
            "communication_ms": communication,
            "waiting_ms": waiting,
            "gain": gain_text(gain),
            **numbers_of(gain),
        },
        words={
            "step": step,
            "hidden": hidden if hidden > 0 else None,
            "condition": condition(launches),
        },
    )


@finding(
    "warning",
    "{how_often} a step takes {ms:.3g} ms longer[ (in {where})][, on {who}]: {share:.1%} of the "
    "time",
    "see what comes at such distances: checkpoints, logs, timers of the host",
    section="steps",
    is_traced=True,
    costs="share",
    looks_for="pauses that recur",
    among=lambda row: len(row.timed),
)
def jitter(row: Row) -> Finds:
    """Steps that take longer at equal distances, such as every 50th."""
    launches = []
    for process in row.counted:
        launches += rank_launches(process.record, process.unsteady_of)
    for found in jitters(launches):
        if found.share < LEAST_PAUSES:
            continue
        spread = f" ±{found.spread:.0f}" if found.spread >= EXACT else ""
        how_often = f"every {found.steps:.0f}{spread} steps ({found.seconds:.3g} s)"
        if found.by_time:
            how_often = f"every {found.seconds:.3g} s (about {found.steps:.0f} steps)"
        who = labels(found.ids)
        yield Found(
            who,
            evidence={
                "steps": found.steps,
                "spread": found.spread,
                "seconds": found.seconds,
                "ms": found.ms,
                "parts": list(found.parts),
                "ranks": [id.label for id in found.ids],
                "share": found.share,
                "pauses": found.count,
            },
            words={"how_often": how_often, "where": " and ".join(found.parts), "who": who},
        )


@finding(
    "warning",
    "Python's garbage collector takes {most}{share:.1%} of the time of {place}[: a full "
    "collection takes {full:.3g} ms, and {frozen_ms:.2g} ms after gc.freeze]",
    "keep less of what a step makes, or call gc.freeze() once that has been made which stays",
    costs="share",
)
def garbage_collection(row: Row) -> Finds:
    """Collections that take a share of the steps, because these keep much of what they make."""
    shares, full_ms, frozen_ms = {}, [], []
    for process in row.counted:
        for number, rank in process.record.ranks.items():
            share = rank.collections.ms / max(math.fsum(rank.ms), 1e-9)
            if share >= LEAST_COLLECTIONS:
                shares[rank_id(process.record, number)] = share
                full_ms.append(rank.collections.full_ms or 0.0)
                frozen_ms.append(rank.collections.frozen_ms or 0.0)
    if not shares:
        return
    full, after = median(full_ms), median(frozen_ms)
    yield Found(
        labels(shares),
        evidence={
            "ranks": [id.label for id in shares],
            "share": max(shares.values()),
            "full_ms": full,
            "frozen_ms": after,
        },
        words={"most": "up to " if len(shares) > 1 else "", "full": full or None},
    )


@finding(
    "note",
    "{place} is the bottleneck of its pipeline ({own_ms:.5g} ms of own work a step, on average it "
    "is {mean_ms:.5g}): with even stages, steps would be {gain}",
    "give that stage less of the model, or take other stages per rank",
    section="ledger",
    is_traced=True,
    costs="faster",
)
def uneven_stages(row: Row) -> Finds:
    """The bottleneck of pipelines: the rank of each that has more to do than the others."""
    launches = launches_of(row)
    if not launches:
        return
    gain = faster(launches, LaunchTimes.even_steps)
    if not float(gain) - gain.error > LEAST_UNEVEN:
        return
    levels = np.mean([times.own_by_place() for times in launches], axis=0)
    place = int(levels.argmax())
    stages = launches[0].pipelines.stages[place]
    label = stages_text(stages)
    name = f"stage {label}" if len(stages) == 1 else f"the rank with stages {label}"
    evidence = {"own_ms": float(levels[place]), "mean_ms": float(levels.mean())}
    yield Found(name, evidence | numbers_of(gain), {"gain": gain_text(gain)})
