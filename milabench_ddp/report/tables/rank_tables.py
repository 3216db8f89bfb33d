"""The tables of ranks: the slowest and the fastest, and every rank."""

from operator import attrgetter

from ...table import Column
from ..completeness import of_how_many
from ..model import Row
from ..rank_fields import IN_TABLE, RankOfRow
from ..ranks.rank_summary import peers
from ..ranks.stragglers import all_stragglers, can_be_judged
from ..statistics.values import median
from .selection import NamedValues, TableOf


def _compared(row: Row) -> NamedValues:
    """The slowest and the fastest of several ranks or devices, and each straggler."""
    count = max(len(row.timed), sum(bool(rank.local) for rank in row.ranks))
    # after a sweep of shapes each device runs its own best shape: steps are not comparable
    if count < 2 or "sweep" in row.tables:
        return
    of_steps: dict[str, object] = {}
    if len(row.timed) > 1:
        slowest = max(row.timed, key=attrgetter("median"))
        fastest = min(row.timed, key=attrgetter("median"))
        of_steps = {
            "longest": row.like_perf(slowest.median),
            "slowest": slowest.id.label,
            "shortest": row.like_perf(fastest.median),
            "fastest": fastest.id.label,
        }
    for local in _local_of(row):
        yield {"ranks": count, **of_steps, **local}


def _local_of(row: Row) -> NamedValues:
    """The local time of each straggler, the worst first; without one, the median of all ranks."""
    known = [rank for rank in row.ranks if rank.local]
    groups = [group for group in peers(known) if len(group) > 1]
    found = [each for group in groups for each in all_stragglers(group)]
    for each in sorted(found, key=attrgetter("slower"), reverse=True):
        yield {
            "own ms": row.like_perf(each.rank.local_ms),
            "slow rank": each.rank.id.label,
            "slower": each.slower,
            "mostly in": each.part + each.when,
        }
    if groups and not found:
        typical = median(rank.local_ms for rank in known)
        judged = any(can_be_judged(group) for group in groups)
        yield {"own ms": row.like_perf(typical), "slow rank": "none" if judged else ""}
    if not groups:
        yield {}


stragglers = TableOf(
    "Ranks",
    _compared,
    (
        Column("ranks", "d"),
        Column("ms", ".4g", lambda ranks: ranks.get("longest")),
        Column("slowest"),
        Column("ms", ".4g", lambda ranks: ranks.get("shortest")),
        Column("fastest"),
        Column("own ms", ".4g"),
        Column("slow rank"),
        Column("slower", ".1%"),
        Column("mostly in"),
    ),
    always=1,
    notes=of_how_many,
)
ranks = TableOf(
    "All ranks",
    lambda row: [RankOfRow(rank, {}) for rank in row.ranks],
    tuple(Column(each.heading, each.format, each.of) for each in IN_TABLE),
    notes=of_how_many,
)
