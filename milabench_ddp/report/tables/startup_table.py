"""The table of start-ups: what ranks do until their first step is done."""

from ...table import Column
from ..model import Row
from ..ranks.startup import PARTS, startups
from ..statistics.values import median
from .selection import NamedValues, TableOf


def _parts(row: Row) -> NamedValues:
    """Each part of the start-up of a benchmark's ranks, then all of it.

    The slowest rank is that of all launches, and so is the median.
    """
    ranks = [rank for process in row.counted for rank in startups(process.record)]
    told = {part for rank in ranks for part in rank.parts}
    spent = {}
    for part, title in PARTS.items():
        if part in told:
            spent[title] = [rank.parts.get(part, 0.0) for rank in ranks]
    if ranks:
        spent["all"] = [rank.seconds for rank in ranks]
    for title, seconds in spent.items():
        most = max(seconds)
        slowest = ranks[seconds.index(most)].id.label
        yield {"part": title, "s": median(seconds), "slowest s": most, "slowest": slowest}


startup = TableOf(
    "Start-up, in seconds",
    _parts,
    (Column("part"), Column("s", ".4g"), Column("slowest s", ".4g"), Column("slowest")),
)
