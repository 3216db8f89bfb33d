"""What is set on nodes, and what their links allow."""

from ...config.audited import audited, text_of_values
from ...grouping import grouped
from ...hostlist import shown_nodes
from ...table import Column, Table
from ..bounds import bounds_of
from ..model import Rows
from ..suspects import settings_of, suspects_of
from .selection import MadeTable, TableOf


@MadeTable
def settings(rows: Rows) -> Table:
    """What is set on which nodes, and whether that is good."""
    runs = {process.run.path: process.run for row in rows for process in row.processes}
    found: list[tuple[str, ...]] = []
    for run in runs.values():
        states = {(each.name, each.node): each.state for each in suspects_of(run)}
        told = settings_of(run)
        for name, setting in audited().items() if told else ():
            values = ((text_of_values(known.get(name, ())), node) for node, known in told.items())
            for value, nodes in grouped(values).items():
                state = states.get((name, nodes[0]), "ok") if value else "cannot tell"
                found.append((name, value, setting.good or "", state, shown_nodes(nodes)))
    columns = ("setting", "value", "wanted", "state", "nodes")
    return Table(tuple(Column(name, unknown="") for name in columns), tuple(found), "Settings")


bounds = TableOf(
    "Bandwidths and what the links allow",
    bounds_of,
    (
        Column("what"),
        Column("where", "", lambda each: ", ".join(filter(None, (*each.nodes[:1], each.place)))),
        Column("GB/s", ".4g", "gb_s"),
        Column("at most", ".4g", "limit.gb_s"),
        Column("share", ".0%"),
        Column("links", "", "limit.links"),
    ),
    always=6,
)
