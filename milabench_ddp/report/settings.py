"""The settings of a benchmark, which tell the points of a sweep apart, and where they place it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import SelectionError, did_you_mean
from ..results.records import Payload, is_finite
from .model import Row, Rows

NOTHING = "-"
NODES = "nodes"
Label = tuple[str, ...]
Place = tuple[str, Label, str]  # block, row, column


@dataclass(frozen=True)
class Layout:
    """How the settings of a benchmark become its place, and in which order places are shown."""

    titles: str  # what a block's title is; empty for a table of one block
    corner: Label  # what the parts of a row's label are
    place: Callable[[Row], Place]
    keeps: Callable[[Row], bool]  # whether a benchmark belongs to the table
    order: Callable[[Row], tuple[int, ...]] = lambda _: (0,)  # by the last number, of columns
    between: str = ", "  # the parts of a row's label, for a person


def by_settings(table: Rows, metric: str, rows: Sequence[str], columns: Sequence[str]) -> Layout:
    """One block: these settings, or those of the sweep, name the rows and the columns.

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
    asked = {*rows, *columns} - {NODES}  # nodes each one has

    def place(row: Row) -> Place:
        label = tuple(setting_of(row, name) for name in rows)
        column = " ".join(setting_of(row, name) for name in columns)
        return "", label, column or metric

    def keeps(row: Row) -> bool:
        values = {setting_of(row, name) for name in asked}
        return values != {NOTHING}

    return Layout("", tuple(rows), place, keeps)


def setting_of(row: Row, name: str) -> str:
    """A setting as text; ``-`` where the benchmark has none of that name.

    It is what the matrix of a sweep gave the benchmark, or else an option of its ``argv`` (with or
    without the dashes), or a key of its configuration; ``name`` and ``nodes`` it always has.
    """
    for settings in (matrix(row), as_mapping(row.config.get("argv")), row.config):
        for key in (name, f"--{name}", f"--{name.replace('_', '-')}"):
            if settings.get(key) is not None:
                return str(settings[key])
    if name == NODES:
        return str(nodes_of(row))
    return row.name if name == "name" else NOTHING


def matrix(row: Row) -> Payload:
    """The point of the sweep's matrix; empty for a benchmark that came out of none."""
    return as_mapping(row.config.get("matrix"))


def nodes_of(row: Row) -> int:
    """On how many nodes it runs: as its matrix says, else as it was recorded, else 1."""
    for count in (matrix(row).get(NODES), row.config.get("num_machines")):
        if is_finite(count) and count >= 1:
            return int(count)
    return 1


def axes(table: Iterable[Row]) -> list[str]:
    """The axes of the sweep, in the order of the matrix."""
    names: dict[str, None] = {}
    for row in table:
        names |= dict.fromkeys(matrix(row))
    return list(names)


def differing(table: Rows) -> list[str]:
    """The axes of the sweep in which its points differ, in the order of the matrix."""
    found = []
    for key in axes(table):
        if len({setting_of(row, key) for row in table}) > 1:
            found.append(key)
    return found


def check(table: Rows, names: Iterable[str]) -> None:
    """``SelectionError`` where no benchmark has a setting of that name."""
    for name in names:
        if all(setting_of(row, name) == NOTHING for row in table):
            known = {*axes(table), "name", NODES}
            raise SelectionError(
                f"no benchmark has the setting {name}{did_you_mean(name, known)}; "
                f"the sweep has {', '.join(sorted(known))}, and any option or key will do"
            )


def as_mapping(value: object) -> Payload:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
