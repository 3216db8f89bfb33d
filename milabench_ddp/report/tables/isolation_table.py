"""The probes by which the nodes were found that made a benchmark fail, or slow."""

from collections.abc import Iterator

from ...hostlist import hostlist
from ...results.isolation import ProbeRecord
from ...table import Column
from ..isolations import isolations
from ..model import Row
from .selection import TableOf

_SHOWED = {True: "bad", False: "good", None: ""}


def _probes(row: Row) -> Iterator[ProbeRecord]:
    for record in isolations(row):
        yield from record.probes


isolation = TableOf(
    "Isolation: probes of parts of the nodes",
    _probes,
    (
        Column("round", "", "round"),
        Column("nodes", "", lambda it: hostlist(it.nodes)),
        Column("lost", "", lambda it: hostlist(it.lost), unknown=""),
        Column("outcome", "", "outcome"),
        Column("rate per node", ".5g", "rate"),
        Column("showed", "", lambda it: _SHOWED[it.is_bad], unknown=""),
        Column("reason", "", "reason", unknown=""),
    ),
    always=3,
)
