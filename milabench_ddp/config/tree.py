"""A YAML document as a tree in which every value knows the file and line that stated it."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

Scalar = str | int | float | bool | None


def shown(path: str | os.PathLike[str]) -> str:
    """The path as a person reads it: relative to the current folder where that is shorter."""
    full = os.fspath(path)
    return min(os.path.relpath(full), full, key=len)


def expanded(text: str) -> Path:
    """The path with ``~`` expanded; the path of an unknown user stays as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def default_base() -> Path:
    """The folder of ``runs/`` unless the user names another: ``$MILABENCH_BASE``, or this one."""
    return expanded(os.environ.get("MILABENCH_BASE") or ".")


def is_file(path: Path) -> bool:
    """Whether it is a file; false also if its name is too long, or its folder cannot be read."""
    try:
        return path.is_file()
    except OSError:
        return False


class Origin(Struct, frozen=True):
    """Where a value was stated."""

    source: str  # the absolute path of a file, or words: --override ..., (default)
    line: int = 0  # counts from 1; 0 where the source is not a file
    column: int = 0  # of the value, if it begins on this line, else of its key; from 1, 0: unknown

    def __str__(self) -> str:
        return f"{shown(self.source)}:{self.line}" if self.line else self.source

    @property
    def folder(self) -> Path:
        return Path(self.source).parent if self.line else Path.cwd()


DEFAULT = Origin("(default)")


class ScalarNode(Struct, frozen=True):
    """A text, a number, true, false or null."""

    value: Scalar
    origin: Origin


class ListNode(Struct, frozen=True):
    """A list.

    With ``appends``, as ``{append: [...]}`` states it, it waits for an older list to extend. With
    ``replaces``, it replaces older tags; otherwise, it is united with them.
    """

    items: tuple["TreeNode", ...]
    origin: Origin
    appends: bool = False
    replaces: bool = False


class DeleteNode(Struct, frozen=True):
    """``!delete``: waits for an older value to remove."""

    origin: Origin


class MappingNode(Struct, frozen=True):
    """A mapping; it is merged with an older one, or replaces it with ``replaces``."""

    entries: Mapping[str, "TreeNode"]
    origin: Origin
    replaces: bool = False

    def get(self, key: str) -> "TreeNode | None":
        return self.entries.get(key)

    def mapping(self, key: str) -> "MappingNode":
        """The value of a key if that is a mapping, else an empty one."""
        node = self.entries.get(key)
        return node if isinstance(node, MappingNode) else MappingNode({}, self.origin)

    def items(self, key: str) -> tuple["TreeNode", ...]:
        """The items of a key if its value is a list, else an empty tuple."""
        node = self.entries.get(key)
        return node.items if isinstance(node, ListNode) else ()

    def scalar(self, key: str) -> Scalar:
        return value_of(self.entries.get(key))

    def text(self, key: str) -> str:
        """The value of a key if that is a text, else an empty text."""
        return text_of(self.entries.get(key)) or ""

    def with_entries(self, changes: Mapping[str, "TreeNode"]) -> "MappingNode":
        return replace(self, entries={**self.entries, **changes})

    def without(self, *keys: str) -> "MappingNode":
        kept = {key: node for key, node in self.entries.items() if key not in keys}
        return replace(self, entries=kept)


TreeNode = ScalarNode | ListNode | MappingNode | DeleteNode
Tree = TypeVar("Tree", bound=TreeNode)
Entries = Mapping[str, MappingNode]  # the benchmarks and templates of a suite, by name
Location = tuple[str | int, ...]  # the keys and indices that lead to a value


def items_of(node: TreeNode) -> tuple[TreeNode, ...]:
    """The items of a list, or the node itself as the only one."""
    return node.items if isinstance(node, ListNode) else (node,)


def finalize(node: Tree) -> Tree:
    """Drop deleted values, and turn appended items into lists: no older layer follows."""
    if isinstance(node, MappingNode):
        entries = node.entries.items()
        kept = {key: finalize(part) for key, part in entries if not isinstance(part, DeleteNode)}
        return replace(node, entries=kept, replaces=False)
    if isinstance(node, ListNode):
        items = [finalize(item) for item in node.items if not isinstance(item, DeleteNode)]
        return replace(node, items=tuple(items), appends=False, replaces=False)
    return node


def value_of(node: TreeNode | None) -> Scalar:
    return node.value if isinstance(node, ScalarNode) else None


def text_of(node: TreeNode | None) -> str | None:
    value = value_of(node)
    return value if isinstance(value, str) else None


def is_null(node: TreeNode) -> bool:
    """Whether the value is ``null``, which for most keys means: not stated."""
    return isinstance(node, ScalarNode) and node.value is None


def to_plain(node: TreeNode, *, nulls: bool = True) -> Any:
    """The values alone, JSON-able; without ``nulls``, mappings leave out keys that are null.

    The tree must be final (see ``finalize``).
    """
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return [to_plain(item, nulls=nulls) for item in node.items]
        case MappingNode():
            return {
                key: to_plain(value, nulls=nulls)
                for key, value in node.entries.items()
                if nulls or not is_null(value)
            }
        case _:
            raise TypeError(f"not final: {node}")


def from_plain(value: Any, origin: Origin) -> TreeNode:
    if isinstance(value, Mapping):
        entries = {str(key): from_plain(item, origin) for key, item in value.items()}
        return MappingNode(entries, origin)
    if isinstance(value, list | tuple):
        return ListNode(tuple(from_plain(item, origin) for item in value), origin)
    return ScalarNode(value, origin)


def walk(node: TreeNode) -> Iterator[TreeNode]:
    """The node and all below it, in no order."""
    left = [node]
    while left:
        part = left.pop()
        yield part
        match part:
            case ListNode(items):
                left += items
            case MappingNode(entries):
                left += entries.values()


def map_scalars(
    node: TreeNode, change: Callable[[ScalarNode, Location], TreeNode], location: Location = ()
) -> TreeNode:
    """The same tree with each scalar replaced by ``change(scalar, location)``."""
    match node:
        case ScalarNode():
            return change(node, location)
        case ListNode():
            parts = enumerate(node.items)
            items = [map_scalars(part, change, (*location, at)) for at, part in parts]
            return replace(node, items=tuple(items))
        case MappingNode():
            entries = {}
            for key, part in node.entries.items():
                entries[key] = map_scalars(part, change, (*location, key))
            return replace(node, entries=entries)
        case DeleteNode():
            return node


def scalar_text(value: Scalar) -> str:
    """A scalar as text: ``true``, ``false`` and ``null`` as YAML spells them, else ``str()``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe_value(node: TreeNode) -> str:
    match node:
        case ScalarNode(value=str(text)):
            return f"the text `{text}`"
        case ScalarNode(value=value):
            return f"`{scalar_text(value)}`"
        case ListNode():
            return "a list"
        case DeleteNode():
            return "`!delete`"
        case MappingNode(entries=entries):
            if len(entries) == 1 and all(map(is_null, entries.values())):
                # An unquoted {worker} is YAML for a mapping.
                return f"a mapping (a placeholder needs quotes: '{{{next(iter(entries))}}}')"
            return "a mapping"
