"""Metric lines of one shape, which are decoded together: those that differ in their numbers alone.

A program writes the same keys again and again. So the first line of a shape is looked at, and the
others are decoded into a struct that is made for it, and that takes nothing else: a line with
another key, text or type is none of this shape, and is read by itself.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from ..codec import loads
from ..metric_line import LARGEST, LARGEST_RANK
from .columns import EXACT
from .payload import NOT_FINITE, NOT_NUMBERS, READ_ALONE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Floats

    Marks = NDArray[np.bool_]

IN_NUMBERS = b"0123456789eE+-"  # but for the point: whole numbers and others are of two shapes
FIXED = ("task", "units")  # texts that are the same in all lines of a shape
FLOATS = ("rate", "time", "elapsed", "arrived", "step", "steps")
MUST_BE_NUMBERS = ("loss", "rank", *FLOATS)  # others are read line by line
MOST_SHAPES = 500
_shapes: dict[bytes, "LineShape | None"] = {}


def skeleton(line: bytes) -> bytes:
    """What lines of one shape have in common."""
    return line.translate(None, IN_NUMBERS)


class Batch(Struct, frozen=True):
    """What lines of one shape tell."""

    columns: Mapping[str, "Floats"]  # numbers, by key or ``group.name``, shape (n,) each
    regular: "Marks"  # the lines that are as they should be, shape (n,)


class LineShape(Struct, frozen=True):
    """The keys of a payload with their types, and the decoder of such lines."""

    decoder: msgspec.json.Decoder[Any]
    keys: Sequence[tuple[str, Sequence[str]]]  # of each field: its key, and the names of a group
    numbers: Mapping[str, bool]  # the names that are numbers: whether whole ones
    task: str | None
    units: str

    @property
    def is_training(self) -> bool:
        """Whether its lines have a training rate."""
        return "rate" in self.numbers and self.task == "train"

    @property
    def told(self) -> list[str]:
        """The names of the numbers that a report keeps."""
        return [name for name in self.numbers if name not in NOT_NUMBERS]

    def has(self, line: bytes) -> bool:
        """Whether a line is of this shape."""
        try:
            self.decoder.decode(line)
        except ValueError:
            return False
        return True

    def batch(self, lines: Sequence[bytes]) -> Batch | None:
        """What the lines tell; None if there are no lines, or one must be read by itself."""
        if not lines:
            return None
        try:
            entries = self.decoder.decode_lines(b"\n".join(lines))
        except ValueError:
            return None
        if len(entries) != len(lines):
            return None
        try:
            columns = self._columns(entries)
        except OverflowError:  # a whole number of 400 digits
            return None
        return Batch(columns, self._regular(columns, len(lines)))

    def _columns(self, entries: Sequence[Any]) -> "dict[str, Floats]":
        from ..numerics import np

        columns: dict[str, Floats] = {}
        rows = zip(*[astuple(entry.data) for entry in entries], strict=True)
        for (key, names), values in zip(self.keys, rows, strict=True):
            if names:
                inner = zip(*map(astuple, values), strict=True)
                for name, found in zip(names, inner, strict=True):
                    columns[name] = np.array(found, float)
            elif key in self.numbers or key == "warmup":
                columns[key] = np.array(values, float)
        return columns

    def _regular(self, columns: "Mapping[str, Floats]", count: int) -> "Marks":
        """The lines whose numbers can be what they should be."""
        from ..numerics import np

        good = np.ones(count, bool)
        for name, values in columns.items():
            if name == "rank":
                good &= (values >= 0) & (values < LARGEST_RANK)
            elif name == "rate" and self.is_training:
                good &= (values > 1 / LARGEST) & (values < LARGEST)
            elif name == "steps" and self.is_training:
                good &= (values > 0) & (values < LARGEST) & (values == np.floor(values))
            elif name != "warmup":
                good &= np.abs(values) <= (EXACT if self.numbers[name] else LARGEST)
        return good


def shape_of(skeleton: bytes, line: bytes) -> LineShape | None:
    """The shape of a line; None if it must be read by itself."""
    if skeleton not in _shapes:
        if len(_shapes) >= MOST_SHAPES:
            _shapes.clear()
        _shapes[skeleton] = _learned(line)
    return _shapes[skeleton]


def _learned(line: bytes) -> LineShape | None:
    try:
        entry = loads(line)
    except ValueError:
        return None
    match entry:
        case {"event": "data", "data": dict(data)} if not entry.keys() - {"event", "data", "pipe"}:
            pass
        case _:
            return None
    if not data or b"\\" in line or not READ_ALONE.isdisjoint(data):
        return None
    kinds: list[tuple[str, object]] = []
    keys: list[tuple[str, Sequence[str]]] = []
    numbers: dict[str, bool] = {}
    for key, value in data.items():
        found = _field(key, value)
        if found is None:
            return None
        kind, inner = found
        kinds.append((key, kind))
        keys.append((key, list(inner) if isinstance(value, dict) else []))
        numbers |= inner
    struct = _struct(kinds)
    event: Sequence[tuple[str, Any] | tuple[str, Any, Any]] = (
        ("event", Literal["data"]),
        ("data", struct),
        ("pipe", object, None),
    )
    line_type = msgspec.defstruct("Line", event, forbid_unknown_fields=True, gc=False)
    decoder = msgspec.json.Decoder(line_type)
    units = data.get("units")
    return LineShape(
        decoder, keys, numbers, data.get("task"), units if isinstance(units, str) else ""
    )


def _field(key: str, value: object) -> tuple[object, Mapping[str, bool]] | None:
    """The type of a field, and the numbers in it; None if it must be read by itself."""
    match value:
        case bool() if key not in MUST_BE_NUMBERS:
            return bool, {}
        case str() if value.lower() in NOT_FINITE:
            return None
        case str() if key in FIXED:
            return Literal[value], {}
        case str() if key not in (*MUST_BE_NUMBERS, "warmup"):
            return str, {}
        case int() | float() if key != "warmup":
            is_whole = isinstance(value, int) and key not in FLOATS
            if key == "rank" and not is_whole:
                return None
            return (int if is_whole else float), {key: is_whole}
        case list() if key not in (*MUST_BE_NUMBERS, "warmup", *FIXED):
            return msgspec.Raw, {}
        case dict() if value and key not in (*NOT_NUMBERS, *MUST_BE_NUMBERS, *FIXED):
            return _group(key, value)
    return None


def _group(key: str, value: Mapping[str, object]) -> tuple[object, Mapping[str, bool]] | None:
    """As ``_field``, of an object that holds numbers alone."""
    numbers = {}
    kinds: list[tuple[str, object]] = []
    for name, inner in value.items():
        if isinstance(inner, bool) or not isinstance(inner, int | float):
            return None
        numbers[f"{key}.{name}"] = isinstance(inner, int)
        kinds.append((name, int if isinstance(inner, int) else float))
    return _struct(kinds), numbers


def _struct(kinds: Sequence[tuple[str, object]]) -> type[msgspec.Struct]:
    """A struct that takes these keys with these types, and no other."""
    fields = [(f"f{k}", kind) for k, (_, kind) in enumerate(kinds)]
    names = {f"f{k}": key for k, (key, _) in enumerate(kinds)}
    return msgspec.defstruct("Payload", fields, rename=names, forbid_unknown_fields=True, gc=False)
