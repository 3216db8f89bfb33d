"""The start-up of each rank: what it does until its first step is done, in seconds.

All ranks leave the process group together, when the last one has come. So the rank that is in it
for the shortest time came last; what another rank is in it beyond that, it waits for that one. No
common clock is needed.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...results.records import Record
from ..statistics.values import FAR, robust_std
from .rank_summary import RankId, rank_id

GROUP, WAITING = "process_group", "waiting"
PARTS: Mapping[str, str] = {  # with their titles
    "spawn": "spawn",
    "import": "import",
    "device": "device",
    "rendezvous": "rendezvous",
    WAITING: "waiting for ranks",
    GROUP: "process group",
    "build": "build",
    "compile": "compile",
    "first_step": "first step",
}
LATE = 2.0  # seconds


class Startup(Struct, frozen=True):
    """The start-up of a rank in a launch."""

    id: RankId
    parts: Mapping[str, float]  # seconds

    @property
    def seconds(self) -> float:
        return sum(self.parts.values())


class Late(Struct, frozen=True):
    """Ranks that came later to the process group than the others."""

    ids: tuple[RankId, ...]
    seconds: float  # of the latest, behind the median of all ranks


def startups(record: Record) -> list[Startup]:
    told = {n: rank.startup for n, rank in record.ranks.items() if rank.startup}
    least = min((parts.get(GROUP, 0.0) for parts in told.values()), default=0.0)
    found = []
    for number, parts in told.items():
        split = dict(parts)
        if len(told) > 1 and GROUP in parts:
            split |= {GROUP: least, WAITING: parts[GROUP] - least}
        found.append(Startup(rank_id(record, number), split))
    return found


def late_ranks(ranks: Sequence[Startup]) -> Late | None:
    """The ranks of a launch for which the others waited; None if none came late.

    A rank is late if it waited less than the median by more than ``LATE`` seconds and, of three or
    more, by more than ``FAR`` robust standard deviations of those that were not ``LATE`` seconds
    behind the median. Of ranks in two halves, the median is in the half that came first.
    """
    if len(ranks) < 2:
        return None
    waits = {rank.id: rank.parts.get(WAITING, 0.0) for rank in ranks}
    typical = sorted(waits.values())[len(waits) // 2]
    enough = LATE
    if len(ranks) > 2:
        others = [wait for wait in waits.values() if wait > typical - LATE]
        enough = max(LATE, FAR * robust_std(others, typical))
    late = tuple(id for id, wait in waits.items() if typical - wait > enough)
    return Late(late, typical - min(waits.values())) if late else None
