"""The table of memory: the peaks of each rank by phase, and how near it came to its limit."""

from operator import methodcaller

from ...table import Column
from ..memory import memories
from .selection import TableOf
from .step_tables import PARTS

PHASES = ("build", "forward", "backward", "forward_backward", "optimizer")


memory_phases = TableOf(
    "Memory by phase, in MiB",
    lambda row: [rank for rank in memories(row) if rank.numbers],
    (
        Column("rank", "", "id.label"),
        *(Column(PARTS.get(phase, phase), ".0f", methodcaller("phase", phase)) for phase in PHASES),
        Column("allocated", ".0f"),
        Column("reserved", ".0f"),
        Column("fragmented", ".1%"),
        Column("split", ".0f", lambda rank: rank.state("split")),
        Column("other", ".0f", lambda rank: rank.state("other")),
        Column("of device", ".1%", "used"),
        Column("retries", ".0f", lambda rank: rank.state("retries")),
    ),
    always=2,
)
