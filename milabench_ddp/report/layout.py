"""Where each benchmark of a sweep stands in its table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .model import Row
from .settings import NODES, NOTHING, check, differing, setting

Label = tuple[str, ...]
At = tuple[str, Label, str]  # block, row, column


@dataclass(frozen=True)
class Layout:
    """How the settings of a benchmark become its place, and in which order places are shown."""

    titles: str  # what a block's title is; empty for a table of one block
    corner: Label  # what the parts of a row's label are
    at: Callable[[Row], At]
    keeps: Callable[[Row], bool]  # whether a benchmark belongs to the table
    order: Callable[[Row], tuple[int, ...]] | None = None  # None: as they come
    between: str = ", "  # the parts of a row's label, for a person


def by_settings(
    table: Sequence[Row], metric: str, rows: Sequence[str], columns: Sequence[str]
) -> Layout:
    """One block: these settings, or those of the sweep, name the rows and the columns.

    Raises:
        SelectionError: no benchmark has such a setting.
    """
    check(table, (*rows, *columns))
    differ = differing(table)
    rows = rows or [key for key in differ if key not in columns][:1] or ["name"]
    columns = columns or [key for key in differ if key not in rows]

    def at(row: Row) -> At:
        label = tuple(setting(row, name) for name in rows)
        return "", label, " ".join(setting(row, name) for name in columns) or metric

    def keeps(row: Row) -> bool:
        asked = [name for name in (*rows, *columns) if name != NODES]  # nodes each one has
        return not asked or any(setting(row, name) != NOTHING for name in asked)

    return Layout("", tuple(rows), at, keeps)
