"""The table of start-ups: what ranks do until their first step is done."""

from ...table import Column, Table
from ..model import Rows
from ..process import counted
from ..ranks.startup import PARTS, startups
from ..statistics.values import median


def startup(rows: Rows) -> Table:
    """For each benchmark, a row for each part of its ranks' start-up, and one for all of it.

    The slowest rank is that of all launches, and so is the median.
    """
    columns = (
        Column("benchmark"),
        Column("part"),
        Column("s", ".4g"),
        Column("slowest s", ".4g"),
        Column("slowest"),
    )
    values = []
    for row in rows:
        ranks = [rank for process in counted(row.processes) for rank in startups(process.record)]
        told = {part for rank in ranks for part in rank.parts}
        for part in (*PARTS, ""):
            if part in told or (ranks and not part):
                seconds = [(rank.parts.get(part, 0.0) if part else rank.seconds) for rank in ranks]
                most, place = max((each, -k) for k, each in enumerate(seconds))
                title = PARTS.get(part, "all")
                values.append((row.name, title, median(seconds), most, ranks[-place].id.label))
    return Table(columns, tuple(values), "Start-up, in seconds")
