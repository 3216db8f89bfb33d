"""The verdicts on the nodes of a validation."""

from ...table import Column, Table, table_from, without_unknown
from ..model import Report

COLUMNS = (
    Column("node", "", "node"),
    Column("verdict", "", "verdict"),
    Column("why", "", lambda it: "; ".join(it.reasons), unknown=""),
    Column("what to do", "", "action", unknown=""),
    Column("benchmark", "", "benchmark", unknown=""),
    Column("place", "", "place", unknown=""),
    Column("value", ".5g", "value"),
    Column("peers", ".5g", "peers"),
    Column("unit", "", "unit", unknown=""),
    Column("lower", ".1%", "lower"),
    Column("smallest defect", ".1%", "smallest"),
)


def verdicts(report: Report) -> Table:
    """Each node of a validation: whether it passes, and the number furthest below its peers."""
    return without_unknown(table_from(COLUMNS, report.verdicts, "Nodes"), always=3)
