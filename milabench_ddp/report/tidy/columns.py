"""The columns of the tidy tables, from the fields of their lines."""

from types import NoneType
from typing import Annotated, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from ...results.records import is_finite

INT64 = range(-(2**63), 2**63)


class TidyColumn(Struct, frozen=True):
    """A column of a tidy table; each of its values may be unknown."""

    name: str
    kind: type  # str, int, float or bool
    meaning: str
    unit: str  # empty without one

    def fitting(self, value: object) -> object:
        """A value as typed columns take it; None where a damaged file has what they cannot take."""
        if isinstance(value, str):
            return value.encode(errors="backslashreplace").decode()
        if self.kind is float and isinstance(value, int):
            return float(value) if is_finite(value) else None
        if self.kind is int and isinstance(value, int):
            return value if value in INT64 else None
        return value


def columns_of(line: type) -> tuple[TidyColumn, ...]:
    """The columns of a table by the type of its lines, those that name a line first."""
    found = []
    for name, hint in get_type_hints(line, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{line.__name__}.{name} does not say what it means")
        whole, meta = get_args(hint)
        kinds = [kind for kind in get_args(whole) or (whole,) if kind is not NoneType]
        found.append(TidyColumn(name, kinds[0], *_meaning(meta)))
    return tuple(found)


def _meaning(meta: Meta) -> tuple[str, str]:
    extra = meta.extra or {}
    return str(extra["text"]), str(extra["unit"])
