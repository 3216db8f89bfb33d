"""The settings that distinguish the combinations of a sweep, their places in a table, its cells."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from msgspec import Struct

from ...errors import SelectionError, one_of
from ...results.records import mapping_or_empty
from ..model import NODES, Row, Rows
from ..statistics.values import NAN

NOTHING = "-"


Label = tuple[str, ...]
Place = tuple[str, Label, str]  # block, row, column


class Layout(Struct, frozen=True):
    """How a table is laid out: the place of each benchmark, and the order of the places."""

    titles: str  # the name of the setting in the blocks' titles; empty for a single block
    corner: Label  # the names of the settings in a row's label
    place: Callable[[Row], Place]
    keeps: Callable[[Row], bool]  # whether a benchmark belongs to the table
    order: Callable[[Row], tuple[int, ...]] = lambda _: (0,)  # the last number orders the columns
    between: str = ", "  # separates the parts of a row's label in the text


def by_settings(table: Rows, metric: str, rows: Sequence[str], columns: Sequence[str]) -> Layout:
    """A layout with one block: settings of the sweep name the rows and the columns.

    Args:
        metric: names the only column if no setting is left for columns.
        rows: the settings that name the rows; empty: the first one that differs, or the name.
        columns: the settings that name the columns; empty: the others that differ.

    Raises:
        SelectionError: no benchmark has such a setting.
    """
    check(table, (*rows, *columns))
    differ = differing(table)
    if not rows:
        free = [key for key in differ if key not in columns]
        rows = free[:1] or ["name"]
    if not columns:
        columns = [key for key in differ if key not in rows]
    asked = {*rows, *columns} - {NODES}  # every benchmark has nodes

    def place(row: Row) -> Place:
        label = tuple(setting_of(row, name) for name in rows)
        column = " ".join(setting_of(row, name) for name in columns)
        return "", label, column or metric

    def keeps(row: Row) -> bool:
        values = {setting_of(row, name) for name in asked}
        return values != {NOTHING}

    return Layout("", tuple(rows), place, keeps)


def setting_of(row: Row, name: str) -> str:
    """A setting as text; ``-`` if the benchmark has no setting of this name.

    It is the value from the sweep's matrix, or else an option in ``argv`` (with or without the
    dashes), or a key of the configuration. Every benchmark has ``name`` and ``nodes``.
    """
    for settings in (row.matrix, mapping_or_empty(row.config.get("argv")), row.config):
        for key in (name, f"--{name}", f"--{name.replace('_', '-')}"):
            if settings.get(key) is not None:
                return str(settings[key])
    if name == NODES:
        return str(row.nodes)
    return row.name if name == "name" else NOTHING


def axes(table: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(row.matrix for row in table)))


def differing(table: Rows) -> list[str]:
    """The axes in which the combinations of the sweep differ, in the order of the matrix."""
    return [key for key in axes(table) if len({setting_of(row, key) for row in table}) > 1]


def check(table: Rows, names: Iterable[str]) -> None:
    """Raise ``SelectionError`` for a name that is not a setting of any benchmark."""
    for name in names:
        if all(setting_of(row, name) == NOTHING for row in table):
            known = sorted({*axes(table), "name", NODES})
            raise SelectionError(f"no benchmark has the setting {name}: {one_of(name, known)}")


class Cell(Struct, frozen=True):
    """A number, and its text; without one it is NaN, and the text may be the benchmark's state."""

    value: float = NAN
    spread: float = NAN  # around the value, in its unit
    note: str = ""  # shown below the table
    text: str = NOTHING
    stdev: float = NAN  # of the steps behind the value; only CSV shows it
    benchmark: str = ""  # whose number it is; empty where there is none
