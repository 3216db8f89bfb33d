"""The ledger of a step: where its time goes, for each rank and for the job."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from ...table import Column
from ..completeness import of_how_many
from ..model import Row
from ..rank_fields import RankOfRow
from ..ranks.ledger import BUBBLE, COMMUNICATION, JITTER, WAITING, launch_times
from ..ranks.pipelines import stages_text
from ..ranks.rank_launch import EXPOSED
from ..ranks.rank_summary import RankId
from ..statistics.values import mean
from .selection import NamedValues, TableOf
from .step_tables import PARTS

OWN = {name: title for name, title in PARTS.items() if name != EXPOSED}
ITEMS = {**OWN, **{name: name for name in (COMMUNICATION, BUBBLE, WAITING, JITTER)}}
HIDDEN = "hidden"  # communication behind the backward pass: it is in no item of the step
Items = Mapping[str, float]  # ms


def ledger_by_rank(row: Row) -> dict[RankId, Items]:
    """The items of each rank in ms, the mean over launches."""
    found: dict[RankId, list[Items]] = defaultdict(list)
    for process in row.counted:
        times = launch_times(process.record, process.unsteady_of)
        if times is not None:
            items = times.ledger()
            ranks = process.record.ranks
            hidden = [ranks[number].hidden_ms for number in sorted(ranks)]
            for place, id in enumerate(times.ids):
                of_rank = {name: float(ms[place]) for name, ms in items.items()}
                found[id].append({**of_rank, HIDDEN: hidden[place]})
    return {rank.id: mean_items(found[rank.id]) for rank in row.ranks if rank.id in found}


def ranks_of(row: Row) -> list[RankOfRow]:
    ledger_of = ledger_by_rank(row)
    return [RankOfRow(rank, ledger_of.get(rank.id, {})) for rank in row.ranks]


def mean_items(several: Collection[Items]) -> Items:
    names = dict.fromkeys(name for items in several for name in items)
    return {name: mean(items.get(name, 0.0) for items in several) for name in names}


def _ledgers(row: Row) -> NamedValues:
    """The ledger of all ranks that tell what is exposed, then that of each."""
    by_rank = ledger_by_rank(row)
    if by_rank:
        yield _shown("all", "", mean_items(by_rank.values()))
    stages = {rank.id: stages_text(rank.stages) for rank in row.ranks}
    for id, items in by_rank.items():
        yield _shown(id.label, stages[id], items)


def _shown(rank: str, stages: str, items: Items) -> Mapping[str, object]:
    """The items by the headings of their columns.

    They add up to the mean step, behind which stands the communication that is hidden; all are in
    ms. Of several launches they are the mean.
    """
    whole = sum(ms for name, ms in items.items() if name != HIDDEN)
    shown = {title: items.get(name) for name, title in ITEMS.items()}
    return {"rank": rank, "stages": stages, "ms": whole, **shown, HIDDEN: items.get(HIDDEN)}


ledger = TableOf(
    "Ledger of a step, in ms",
    _ledgers,
    (
        Column("rank"),
        Column("stages", unknown=""),
        Column("ms", ".4g"),
        *(Column(title, ".3g") for title in (*ITEMS.values(), HIDDEN)),
    ),
    always=2,
    notes=of_how_many,
)
