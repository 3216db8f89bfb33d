"""Findings about nodes of a validation where a benchmark broke or hung, and elsewhere did not."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from ...events import Outcome, Status
from ...grouping import grouped
from ...results.records import Run
from ...results.state import LaunchState, RankCall
from ..model import Row
from .finder import Finds, Found, finding

_BROKE = (Status.FAILED, Status.TIMEOUT)
_NOWHERE = ("T", "t", "D", "Z", "")  # states of ``/proc`` in which a rank waits for no other


# Where it broke everywhere, the cause is not the node's.
@finding(
    "error",
    "[{node}: ]{broke} of {own} {outcome}[: {reason}]; {well} of {all} ended ok",
    "see its last lines (report --failures)",
    section="output",
    fails=True,
)
def failed_on_node(row: Row) -> Finds:
    """Nodes where processes that measure by themselves broke, and most others did not."""
    alone = [each for each in row.processes if each.is_alone] if row.validates else []
    processes = chain.from_iterable(launch.processes for _, launch in _launches(row))
    # what still told data may have begun late, for want of a file system, say
    late = {each.tag for each in processes if each.goes_on}
    broke = [each for each in alone if each.status in _BROKE and each.record.tag not in late]
    well = sum(each.status is Status.OK for each in alone)
    if len(broke) > well:
        return
    own = Counter(each.record.node for each in alone)
    for node, found in grouped((each.record.node, each) for each in broke).items():
        first = found[0]
        yield Found(
            node,
            evidence={"processes": len(found), "outcome": first.status, "ok": well},
            words={
                "node": node,
                "broke": len(found),
                "own": own[node],
                "outcome": "took too long" if first.status is Status.TIMEOUT else "failed",
                "reason": first.verdict.reason if first.verdict else "",
                "well": well,
                "all": len(alone),
            },
            nodes=(node,),
        )


@finding(
    "error",
    "{place}: rank {rank} did not come to what the others waited in[: {call}]",
    "see where it was (its .stacks)",
    section="output",
    fails=True,
)
def hung_on_node(row: Row) -> Finds:
    """The node whose ranks, alone of all, waited for no other when a launch did not go on."""
    for run, launch in _launches(row) if row.validates else ():
        nodes = {record.tag: record.node for record in run.records}
        calls = [
            (nodes.get(process.tag, ""), call)
            for process in launch.processes
            for call in process.calls
            if call.rank is not None and launch.outcome is not Outcome.OK
        ]
        stuck = [(node, call) for node, call in calls if not _waits(call)]
        found = {node for node, _ in stuck}
        if len(found) == 1 and any(node not in found for node, _ in calls):
            node, call = stuck[0]
            yield Found(
                node,
                evidence={"ranks": [each.rank for _, each in stuck], "outcome": launch.outcome},
                words={"rank": call.rank, "call": call.call},
                nodes=(node,),
            )


def _launches(row: Row) -> Iterator[tuple[Run, LaunchState]]:
    for run in row.runs:
        state = run.benchmark(row.name)
        yield from ((run, launch) for launch in (state.launches if state else ()))


def _waits(call: RankCall) -> bool:
    return bool(call.waits_in) and call.state not in _NOWHERE
