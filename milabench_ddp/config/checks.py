"""Checks values against types of msgspec; an error says the file, the line and what may be there.

The range of a value is in the ``Meta`` of its type, and so is its description in messages where
msgspec's own would not do. A check that needs more than the value is a function.
"""

from collections.abc import Callable, Iterable, Mapping
from sys import float_info
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from ..errors import did_you_mean
from .mistakes import Apart, MistakeError, collected, keep
from .tree import (
    ListNode,
    MappingNode,
    Origin,
    Scalar,
    TreeNode,
    describe_value,
    is_null,
    text_of,
    to_plain,
)

# Takes the key as messages show it, and its node; returns the value, or raises ConfigError.
Check = Callable[[str, TreeNode], Any]

Text = Annotated[str, Meta(min_length=1, description="a text")]
Texts = Annotated[tuple[str, ...], Meta(description="a list of texts")]
Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0, le=float_info.max, description="a number, 0 or more")]
Single = Annotated[Scalar, Meta(description="a single value")]

_NAMES = {
    "`array`": "a list",
    "`bool`": "true or false",
    "`float`": "a number",
    "`int`": "an integer",
    "`object`": "a mapping",
    "`str`": "a text",
}


class IncompleteError(MistakeError):
    """A mapping lacks a required key."""


def typed(kind: object) -> Check:
    """The check of a type; no value is None, since such a key counts as not stated."""
    if type(None) in get_args(kind):
        kind = get_args(kind)[0]
    return lambda key, node: checked(kind, key, node)


def checked(kind: object, key: str, node: TreeNode) -> Any:
    """The value of a final tree as a type; a key whose value is null counts as not stated.

    Args:
        kind: a type that msgspec converts to, or a class that takes the plain value, and raises
            ValueError for one that it does not accept.
        key: the key as messages show it.

    Raises ConfigError for an unknown key or a wrong value, IncompleteError for a missing one.
    """
    try:
        return convert(
            to_plain(node, nulls=False), kind, dec_hook=lambda own, value: own(value), str_keys=True
        )
    except ValidationError as error:
        _check_parts(kind, key, node)
        raise _explained(str(error), kind, key, node) from None


def _check_parts(kind: object, key: str, node: TreeNode) -> None:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    match node:
        case ListNode(items) if get_origin(kind) in (tuple, frozenset):
            for at, item in enumerate(items):
                checked(get_args(kind)[0], f"{key}[{at}]", item)
        case MappingNode(entries) if get_origin(kind) is dict:
            for name, part in entries.items():
                checked(get_args(kind)[1], f"{key}.{name}", part)
        case MappingNode() if isinstance(kind, type) and issubclass(kind, Struct):
            _check_fields(kind, key, node)


def _check_fields(kind: type[Struct], key: str, node: MappingNode) -> None:
    known = {field.name: field for field in fields(kind)}
    if not kind.__struct_config__.forbid_unknown_fields:
        node = node.without(*node.entries.keys() - known)
    checks = {name: typed(field.type) for name, field in known.items()}
    stated = check_entries(checks, node, f"{key}.")
    for name, field in known.items():
        if field.required and name not in stated:
            raise IncompleteError(f"`{key}` in {node.origin} has no `{name}`", node.origin)


def _explained(said: str, kind: object, key: str, node: TreeNode) -> MistakeError:
    if get_origin(kind) is Literal:
        words = get_args(kind)
        hint = did_you_mean(text_of(node) or "", words)
        return MistakeError(
            f"{wrong(key, node, ' or '.join(f'`{word}`' for word in words))}{hint}", node.origin
        )
    for meta in getattr(kind, "__metadata__", ()):
        if meta.description:
            return wrong(key, node, meta.description)
    said = said.removeprefix("Expected ").partition(", got")[0]
    for theirs, ours in _NAMES.items():
        said = said.replace(theirs, ours)
    return wrong(key, node, said)


def wrong(key: str, node: TreeNode, expected: str) -> MistakeError:
    where = f"wrong value for `{key}` in {node.origin}"
    got = describe_value(node)
    return MistakeError(f"{where}: expected {expected}, got {got}", node.origin)


def unknown(kind: str, name: str, origin: Origin, known: Iterable[str]) -> MistakeError:
    return MistakeError(
        f"unknown {kind} `{name}` in {origin}{did_you_mean(name, known)}", origin, name
    )


def check_keys(known: Iterable[str], mapping: MappingNode) -> None:
    for key, node in mapping.entries.items():
        if key not in known:
            keep(unknown("key", key, node.origin, known))


def check_entries(
    checks: Mapping[str, Check], mapping: MappingNode, prefix: str = ""
) -> dict[str, Any]:
    """The checked values of a final mapping, by key, without those that are null.

    Raises ConfigError for an unknown key or a wrong value; ``prefix`` begins keys in its message.
    """
    values = {}
    with collected():
        check_keys(checks, mapping)
        for name, node in mapping.entries.items():
            if name in checks and not is_null(node):
                with Apart():
                    values[name] = checks[name](f"{prefix}{name}", node)
    return values


def as_mapping(key: str, node: TreeNode, expected: str = "a mapping") -> MappingNode:
    if not isinstance(node, MappingNode):
        raise wrong(key, node, expected)
    return node
