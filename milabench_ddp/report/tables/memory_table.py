"""The table of memory: the peaks of each rank by phase, and how near it came to its limit."""

from ...table import Column, Table, without_unknown
from ..memory import memories
from ..model import Rows
from .step_tables import PARTS

PHASES = ("build", "forward", "backward", "forward_backward", "optimizer")


def memory_phases(rows: Rows) -> Table:
    """A row for each rank that tells its memory by phase."""
    columns = (
        Column("benchmark"),
        Column("rank"),
        *(Column(PARTS.get(phase, phase), ".0f") for phase in PHASES),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
        Column("fragmented", ".1%"),
        Column("split", ".0f"),
        Column("other", ".0f"),
        Column("of device", ".1%"),
        Column("retries", ".0f"),
    )
    values = []
    for row in rows:
        for rank in memories(row):
            if rank.numbers:
                shown = (
                    row.name,
                    rank.id.label,
                    *(rank.phase(phase) for phase in PHASES),
                    rank.allocated,
                    rank.reserved,
                    rank.fragmented,
                    rank.state("split"),
                    rank.state("other"),
                    rank.used,
                    rank.state("retries"),
                )
                values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Memory by phase, in MiB"), always=2)
