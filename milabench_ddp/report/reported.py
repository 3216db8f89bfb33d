"""Every number that the programs told about themselves, as a table."""

from ..table import Column, Table
from .model import Rows


def numbers(rows: Rows) -> Table:
    """A row for each number of each benchmark: its mean and deviation, and how many told it."""
    columns = (
        Column("bench"),
        Column("number"),
        Column("mean", ".6g"),
        Column("std", ".2g"),
        Column("told by", "d"),  # processes and ranks, over all repeats
    )
    values = []
    for row in rows:
        for name, told in sorted(row.told.items()):
            values.append((row.name, name, told.mean, told.std, len(told.values)))
    return Table(columns, tuple(values), "Numbers of the programs")
