"""The settings of a benchmark: what tells the points of a sweep apart."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SelectionError, did_you_mean
from ..results.records import is_finite
from .model import Row

NOTHING = "-"
NODES = "nodes"


def setting(row: Row, name: str) -> str:
    """A setting as text; ``-`` where the benchmark has none of that name.

    It is what the matrix of a sweep gave the benchmark, or else an option of its ``argv`` (with or
    without the dashes), or a key of its configuration; ``name`` and ``nodes`` it always has.
    """
    config = row.config
    for place in (matrix(row), mapping(config.get("argv")), config):
        for key in (name, f"--{name}", f"--{name.replace('_', '-')}"):
            if place.get(key) is not None:
                return str(place[key])
    if name == NODES:
        return str(node_count(row))
    return row.name if name == "name" else NOTHING


def matrix(row: Row) -> Mapping[str, Any]:
    """The point of the sweep's matrix; empty for a benchmark that came out of none."""
    return mapping(row.config.get("matrix"))


def node_count(row: Row) -> int:
    """On how many nodes it runs: as its matrix says, else as it was recorded, else 1."""
    for count in (matrix(row).get(NODES), row.config.get("num_machines")):
        if is_finite(count) and count >= 1:
            return int(count)
    return 1


def differing(table: Iterable[Row]) -> list[str]:
    """The axes of the sweep in which its points differ, in the order of the matrix."""
    rows = list(table)
    swept = dict.fromkeys(key for row in rows for key in matrix(row))
    return [key for key in swept if len({setting(row, key) for row in rows}) > 1]


def check(table: Sequence[Row], names: Iterable[str]) -> None:
    """``SelectionError`` where no benchmark has a setting of that name."""
    for name in names:
        if all(setting(row, name) == NOTHING for row in table):
            known = {key for row in table for key in matrix(row)} | {"name", NODES}
            raise SelectionError(
                f"no benchmark has the setting {name}{did_you_mean(name, known)}; "
                f"the sweep has {', '.join(sorted(known))}, and any option or key will do"
            )


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
