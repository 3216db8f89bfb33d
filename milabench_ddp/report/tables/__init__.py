"""The tables of a report: the main table, and those that ``--table`` can select.

A new table is a ``TableOf``, or else a function ``Rows -> Table``, in a file here, and a line in
``TABLES``. One that needs the whole report is a function ``Report -> Table``, and a line in
``REPORT_TABLES``.
"""

from collections.abc import Callable, Mapping

from ...table import Table
from ..model import Report, Rows
from .bandwidth import bandwidths, links, pairs
from .energy_tables import energy, energy_by_device
from .findings_tables import findings, validation
from .ledger_table import ledger
from .memory_table import memory_phases
from .monitor_tables import devices, hosts, traffic
from .program_tables import communication, curve, matrix_products, numbers
from .score_table import scores
from .selection import TableOf
from .speedup import speedup
from .startup_table import startup
from .step_tables import every_rank, slowest_ranks, steps
from .strategies import strategies

MakeTable = Callable[[Rows], Table]

TABLES: Mapping[str, MakeTable] = {
    "steps": steps,
    "strategies": strategies,
    "stragglers": slowest_ranks,
    "ranks": every_rank,
    "ledger": ledger,
    "startup": startup,
    "memory_phases": memory_phases,
    "devices": devices,
    "traffic": traffic,
    "energy": energy_by_device,
    "energy_total": energy,
    "hosts": hosts,
    "communication": communication,
    "curve": curve,
    "numbers": numbers,
    "speedup": speedup,
    "sweeps": matrix_products,
    "bandwidth": bandwidths,
    "links": links,
    "pairs": pairs,
}
REPORT_TABLES: Mapping[str, Callable[[Report], Table]] = {
    "findings": findings,
    "scores": scores,
    "validation": validation,
}


def tables_with_rows(rows: Rows) -> list[str]:
    """The names of the tables that have something to show."""
    names = []
    for name, table in TABLES.items():
        if table.has_rows(rows) if isinstance(table, TableOf) else table(rows):
            names.append(name)
    return names
