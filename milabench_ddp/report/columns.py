"""The columns of the table, in milabench's order and with its formats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .model import Row


@dataclass(frozen=True)
class Column:
    """A column: its name, how a row has it, and how the text shows it."""

    name: str
    value: Callable[[Row], Any]
    format: str


COLUMNS = (
    Column("bench", lambda row: row.name, ""),
    Column("fail", lambda row: row.fail, "4.0f"),
    Column("n", lambda row: row.n, "3.0f"),
    Column("ngpu", lambda row: row.ngpu, "4.0f"),
    Column("perf", lambda row: row.perf, "10.2f"),
    Column("sem%", lambda row: row.sem, "6.1%"),
    Column("std%", lambda row: row.std, "6.1%"),
    Column("peak_memory", lambda row: row.peak_memory, "11.0f"),
    Column("score", lambda row: row.score, "10.2f"),
    Column("weight", lambda row: row.weight, "6.2f"),
)
UNIT = Column("unit", lambda row: row.unit, "")  # ours, so it stands last
