"""The probes by which the nodes were found that made a benchmark fail, or slow."""

from ...hostlist import hostlist
from ...table import Column
from ..isolations import isolations
from .selection import TableOf

_SHOWED = {True: "bad", False: "good", None: ""}


isolation = TableOf(
    "Isolation: probes of parts of the nodes",
    lambda row: [probe for record in isolations(row) for probe in record.probes],
    (
        Column("round"),
        Column("nodes", "", lambda it: hostlist(it.nodes)),
        Column("lost", "", lambda it: hostlist(it.lost), unknown=""),
        Column("outcome"),
        Column("rate per node", ".5g", "rate"),
        Column("showed", "", lambda it: _SHOWED[it.is_bad], unknown=""),
        Column("reason", unknown=""),
    ),
    always=3,
)
