"""A table of a report as a selection: what its rows are about, and what columns show of it.

One whose columns or rows depend on all benchmarks is a function, below ``@MadeTable``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from ...table import Column, Table, table_from, without_unknown
from ..model import Row, Rows

# What rows are about, by the names of their columns
NamedValues = Iterator[Mapping[str, object]]


class TableOf(Struct, frozen=True):
    """A table with a row for each of the subjects of each benchmark, whose name comes first."""

    title: str
    subjects: Callable[[Row], Iterable[Any]]
    columns: tuple[Column, ...]
    always: int = 0  # columns that stay where no row knows them; 0: all
    notes: Callable[[Rows], Iterable[str]] = lambda _: ()

    def __call__(self, rows: Rows) -> Table:
        values: list[tuple[Any, ...]] = []
        for row in rows:
            part = table_from(self.columns, self.subjects(row))
            values += [(row.name, *shown) for shown in part.rows]
        columns = (Column("benchmark"), *self.columns)
        table = Table(columns, tuple(values), self.title, tuple(self.notes(rows)))
        return without_unknown(table, self.always) if self.always else table

    def has_rows(self, rows: Rows) -> bool:
        """Whether the table has any, which is cheaper to know than all of them."""
        return any(True for row in rows for _ in self.subjects(row))


class MadeTable(Struct, frozen=True):
    """A table that a function makes."""

    make: Callable[[Rows], Table]

    def __call__(self, rows: Rows) -> Table:
        return self.make(rows)

    has_rows = __call__
