"""The table of start-ups: what ranks do until their first step is done."""

from collections.abc import Iterator, Mapping

from ...table import Column
from ..model import Row
from ..process import counted
from ..ranks.startup import PARTS, startups
from ..statistics.values import median
from .selection import TableOf


def _parts(row: Row) -> Iterator[Mapping[str, object]]:
    """Each part of the start-up of a benchmark's ranks, then all of it.

    The slowest rank is that of all launches, and so is the median.
    """
    ranks = [rank for process in counted(row.processes) for rank in startups(process.record)]
    told = {part for rank in ranks for part in rank.parts}
    for part in (*PARTS, ""):
        if part in told or (ranks and not part):
            seconds = [(rank.parts.get(part, 0.0) if part else rank.seconds) for rank in ranks]
            most, place = max((each, -k) for k, each in enumerate(seconds))
            yield {
                "part": PARTS.get(part, "all"),
                "s": median(seconds),
                "slowest s": most,
                "slowest": ranks[-place].id.label,
            }


startup = TableOf(
    "Start-up, in seconds",
    _parts,
    (Column("part"), Column("s", ".4g"), Column("slowest s", ".4g"), Column("slowest")),
)
