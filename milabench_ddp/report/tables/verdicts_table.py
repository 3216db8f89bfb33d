"""The verdicts on the nodes of a validation."""

from ...table import Column, Table, table_from, without_unknown
from ..model import Report

COLUMNS = (
    Column("node"),
    Column("verdict"),
    Column("why", "", lambda it: "; ".join(it.reasons), unknown=""),
    Column("what to do", "", "action", unknown=""),
    Column("benchmark", unknown=""),
    Column("place", unknown=""),
    Column("value", ".5g"),
    Column("peers", ".5g"),
    Column("unit", unknown=""),
    Column("lower", ".1%"),
    Column("smallest defect", ".1%", "smallest"),
)


def verdicts(report: Report) -> Table:
    """Each node of a validation: whether it passes, and the number furthest below its peers."""
    return without_unknown(table_from(COLUMNS, report.verdicts, "Nodes"), always=3)
