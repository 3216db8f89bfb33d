"""A YAML document as a tree in which every value knows the file and line that stated it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .paths import shown

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was stated."""

    source: str  # the absolute path of a file, or words: --override ..., (default)
    line: int = 0  # counts from 1; 0 where the source is no file

    def __str__(self) -> str:
        """``config/x.yaml:12``, or the words."""
        return f"{shown(self.source)}:{self.line}" if self.line else self.source

    @property
    def folder(self) -> Path:
        """The folder that relative paths stated here start from."""
        return Path(self.source).parent if self.line else Path.cwd()


DEFAULT = Origin("(default)")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar."""

    value: Scalar
    origin: Origin


@dataclass(frozen=True, slots=True)
class Items:
    """A list. A fresh one replaces older tags, where tags would otherwise be united."""

    items: tuple["Node", ...]
    origin: Origin
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping. A fresh one replaces what is older, where mappings would otherwise be merged."""

    entries: Mapping[str, "Node"]
    origin: Origin
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """``{append: [...]}``: waits for an older list to extend."""

    items: tuple["Node", ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Removed:
    """``!delete``: waits for an older value to remove."""

    origin: Origin


Node = Leaf | Items | Table | Append | Removed


def plain(node: Node) -> Any:
    """The values alone, JSON-able; the node must be settled (see merge.settle)."""
    match node:
        case Leaf():
            return node.value
        case Items():
            return [plain(item) for item in node.items]
        case Table():
            return {key: plain(value) for key, value in node.entries.items()}
        case _:
            raise TypeError(f"not settled: {node}")


def node_of(value: Any, origin: Origin) -> Node:
    """The tree of a plain value, all of it stated at ``origin``."""
    if isinstance(value, Mapping):
        return Table({str(key): node_of(item, origin) for key, item in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Items(tuple(node_of(item, origin) for item in value), origin)
    return Leaf(value, origin)


def map_leaves(node: Node, change: Callable[[Leaf], Node]) -> Node:
    """The same tree with every scalar replaced by what ``change`` makes of it."""
    match node:
        case Leaf():
            return change(node)
        case Items():
            items = tuple(map_leaves(item, change) for item in node.items)
            return Items(items, node.origin, node.fresh)
        case Table():
            entries = {key: map_leaves(value, change) for key, value in node.entries.items()}
            return Table(entries, node.origin, node.fresh)
        case Append():
            return Append(tuple(map_leaves(item, change) for item in node.items), node.origin)
        case Removed():
            return node


def is_null(node: Node) -> bool:
    """Whether the value is ``null``, which for most keys means: not stated."""
    return isinstance(node, Leaf) and node.value is None


def scalar_text(value: Scalar) -> str:
    """A scalar as text: ``true``, ``false`` and ``null`` as YAML spells them, else ``str()``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe(node: Node) -> str:
    """A value in an error message: ``the text `ten```, ``a list``."""
    match node:
        case Leaf(value=str(text)):
            return f"the text `{text}`"
        case Leaf(value=value):
            return f"`{scalar_text(value)}`"
        case Items() | Append():
            return "a list"
        case Table(entries=entries) if [*map(is_null, entries.values())] == [True]:
            # An unquoted {worker} is YAML for a mapping.
            return f"a mapping (a placeholder needs quotes: '{{{next(iter(entries))}}}')"
        case Table():
            return "a mapping"
        case Removed():
            return "`!delete`"
