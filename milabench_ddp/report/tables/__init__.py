"""The tables of a report: the main table, and those that ``--table`` can select.

A new table is a ``TableOf``, or else a function below ``@MadeTable``, in the file of its subject;
its name is that of the table. One that needs the whole report is a function ``Report -> Table``,
and a line in ``REPORT_TABLES``.
"""

from collections.abc import Callable, Mapping

from ...table import Table
from ..model import Report, Rows
from . import (
    bandwidth,
    energy_tables,
    isolation_table,
    ledger_table,
    memory_table,
    monitor_tables,
    program_tables,
    published_table,
    rank_tables,
    settings_tables,
    speedup,
    startup_table,
    step_tables,
    strategies,
)
from .findings_tables import findings, validation
from .score_table import scores
from .selection import MadeTable, TableOf
from .verdicts_table import verdicts

SUBJECTS = (  # in the order in which their tables are shown
    step_tables, strategies, rank_tables, ledger_table, startup_table, memory_table,
    monitor_tables, energy_tables, program_tables, speedup, bandwidth, settings_tables,
    published_table, isolation_table,
)  # fmt: skip
TABLES = {
    name: each
    for subject in SUBJECTS
    for name, each in vars(subject).items()
    if isinstance(each, TableOf | MadeTable)
}
REPORT_TABLES: Mapping[str, Callable[[Report], Table]] = {
    "findings": findings,
    "scores": scores,
    "validation": validation,
    "verdicts": verdicts,
}


def tables_with_rows(rows: Rows) -> list[str]:
    return [name for name, table in TABLES.items() if table.has_rows(rows)]
