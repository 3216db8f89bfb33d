"""Checks of the values of keys: small functions, which tables put together."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ..errors import ConfigError, did_you_mean
from ..visible import in_line
from .tree import (
    ListNode,
    MappingNode,
    Origin,
    Scalar,
    ScalarNode,
    TreeNode,
    describe_value,
    expanded,
    is_null,
    scalar_text,
    text_of,
    to_plain,
    value_of,
)

TEXT = 2**17 - 1  # bytes of an argument on Linux (MAX_ARG_STRLEN)

# Takes the key as messages show it, and its node; returns the value, or raises ConfigError.
Check = Callable[[str, TreeNode], Any]
Checks = Mapping[str, Check]  # by key

_MEMORY = re.compile(r"(\d{1,15}(?:\.\d*)?)\s*((?:([kmgt])(i?))?[bo])?", re.IGNORECASE)


class IncompleteError(ConfigError):
    """A mapping lacks a required key."""


def wrong(key: str, node: TreeNode, expected: str) -> ConfigError:
    """The error for a value that its key does not accept."""
    return ConfigError(
        f"wrong value for `{key}` in {node.origin}: expected {expected}, got {describe_value(node)}"
    )


def unknown(kind: str, name: str, origin: Origin, known: Iterable[str]) -> ConfigError:
    """The error for a name that is not among the known ones."""
    return ConfigError(f"unknown {kind} `{name}` in {origin}{did_you_mean(name, known)}")


def check_keys(known: Iterable[str], mapping: MappingNode) -> None:
    """Raise ConfigError for a key that is not among the known ones."""
    for key, node in mapping.entries.items():
        if key not in known:
            raise unknown("key", key, node.origin, known)


def as_mapping(key: str, node: TreeNode, expected: str = "a mapping") -> MappingNode:
    """The node itself; raises ConfigError if it is not a mapping."""
    if not isinstance(node, MappingNode):
        raise wrong(key, node, expected)
    return node


def free(key: str, node: TreeNode) -> Any:
    """Any value: the key has no effect here and is kept for the record."""
    del key
    return to_plain(node)


def single(key: str, node: TreeNode) -> Scalar:
    """Any scalar."""
    if not isinstance(node, ScalarNode):
        raise wrong(key, node, "a single value")
    return node.value


def _scalar(expected: str, accepts: Callable[[Scalar], bool]) -> Check:
    """A scalar that ``accepts`` accepts; ``expected`` describes it in messages."""

    def check(key: str, node: TreeNode) -> Scalar:
        if not isinstance(node, ScalarNode) or not accepts(node.value):
            raise wrong(key, node, expected)
        return node.value

    return check


flag = _scalar("true or false", lambda value: isinstance(value, bool))
text = _scalar("a text", lambda value: isinstance(value, str) and value != "")
one_line = _scalar(
    "one line of text without invisible characters",
    lambda value: isinstance(value, str) and value != "" and in_line(value) == value,
)
any_text = _scalar("a text", lambda value: isinstance(value, str))


def path(key: str, node: TreeNode) -> Path:
    """A path, relative to the folder of the file that states it."""
    return node.origin.folder / expanded(text(key, node))


def whole(least: int, most: int | None = None) -> Check:
    """An integer, ``least`` or more, and at most ``most``."""

    def accepts(value: Scalar) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return least <= value and (most is None or value <= most)

    if most is None:
        return _scalar(f"an integer, {least} or more", accepts)
    return _scalar(f"an integer from {least} to {most:,}", accepts)


def number(expected: str, low: float, high: float = inf, *, above: bool = False) -> Check:
    """A finite number from ``low`` to ``high``; with ``above``, it must be greater than ``low``."""

    def accepts(value: Scalar) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            return False
        return low <= value <= high and not (above and value == low)

    return _scalar(expected, accepts)


def one_of(*words: str) -> Check:
    """One of these words."""

    def check(key: str, node: TreeNode) -> str:
        value = text_of(node) or ""
        if value in words:
            return value
        expected = " or ".join(f"`{word}`" for word in words)
        error = wrong(key, node, expected)
        raise ConfigError(f"{error}{did_you_mean(value, words)}")

    return check


def check_entries(
    checks: Checks, mapping: MappingNode, key: str = "", required: Iterable[str] = ()
) -> dict[str, Any]:
    """The checked values of a mapping, by key; a key whose value is null counts as not stated.

    Args:
        checks: the check of each key that it may have.
        mapping: the mapping, which must be final.
        key: the key of the mapping itself; empty at the top.
        required: the keys that it must have.

    Raises ConfigError for an unknown key or a wrong value, IncompleteError for a missing one.
    """
    check_keys(checks, mapping)
    values = {}
    for name, node in mapping.entries.items():
        if name in required or not is_null(node):
            place = f"{key}.{name}" if key else name
            values[name] = checks[name](place, node)
    for name in required:
        if name not in mapping.entries:
            raise IncompleteError(f"`{key}` in {mapping.origin} has no `{name}`")
    return values


def mapping_of(checks: Checks, required: Iterable[str] = ()) -> Check:
    """A mapping with these keys, of which some are required."""

    def check(key: str, node: TreeNode) -> dict[str, Any]:
        return check_entries(checks, as_mapping(key, node), key, required)

    return check


def list_of(item_check: Check, expected: str = "a list") -> Check:
    """A list whose items pass the check; ``expected`` describes it in messages."""

    def check(key: str, node: TreeNode) -> tuple[Any, ...]:
        if not isinstance(node, ListNode):
            raise wrong(key, node, expected)
        values = []
        for at, item in enumerate(node.items):
            values.append(item_check(f"{key}[{at}]", item))
        return tuple(values)

    return check


texts = list_of(any_text, "a list of texts")


def memory_mib(key: str, node: TreeNode) -> float:
    """The MiB of an amount of memory: ``3885 MiB``, ``80 GiB``, ``4Go`` or a bare number of MiB."""
    found = _MEMORY.fullmatch(str(value_of(node)).strip())
    if found is None:
        raise wrong(key, node, "an amount of memory such as `81920 MiB`")
    amount, unit, letter, binary = found.groups()
    if unit is None:
        return float(amount)
    base = 1024 if binary else 1000
    power = " kmgt".index((letter or " ").lower())
    return float(amount) * float(base**power) / 2**20


def environment(key: str, node: TreeNode) -> dict[str, str]:
    """A mapping of variables to their values as text; a variable that is null is left out."""
    variables = {}
    for name, value in as_mapping(key, node, "a mapping of variables").entries.items():
        if not name or "=" in name or "\0" in name:
            raise ConfigError(f"`{name}` in {value.origin} cannot name an environment variable")
        word = _word(f"{key}.{name}", value)
        if not is_null(value):
            variables[name] = word
    return variables


def command_line(key: str, node: TreeNode) -> tuple[str, ...]:
    """The words of an ``argv``, a mapping or a list; no words for null.

    In a mapping ``null`` drops an option, ``true`` makes a bare flag (or, for a key without a dash,
    a positional argument that is moved to the front), a list is joined by commas, and the key
    ``--`` adds its list as it is.
    """
    match node:
        case ScalarNode(value=None):
            return ()
        case ListNode():
            return tuple(_word(key, item) for item in node.items if not is_null(item))
        case MappingNode():
            return _options(node)
        case _:
            raise wrong(key, node, "a mapping of options or a list of words")


def _options(options: MappingNode) -> tuple[str, ...]:
    front: list[str] = []
    words: list[str] = []
    for key, node in options.entries.items():
        match node:
            case ScalarNode(value=None):
                continue
            case ScalarNode(value=True) if key.startswith("-"):
                words.append(key)
            case ScalarNode(value=True):
                front.append(key)
            case ScalarNode(value=False):
                raise ConfigError(f"`{key}: false` in {node.origin}: use null to drop an option")
            case ListNode() if key == "--":
                words += command_line("argv", node)
            case _ if key == "--":
                words.append(_word("argv", node))
            case ListNode():
                joined = ",".join(_word(key, item) for item in node.items)
                words += [key, joined]
            case _:
                words += [key, _word(key, node)]
    return (*front, *words)


def _word(key: str, node: TreeNode) -> str:
    word = scalar_text(single(key, node))
    return for_process(key, word, node)


def for_process(key: str, word: str, node: TreeNode) -> str:
    """The word itself; raises ConfigError if no process can be given it."""
    if "\0" in word:
        raise ConfigError(f"`{key}` in {node.origin} holds a null character")
    try:
        size = len(os.fsencode(word))
    except UnicodeEncodeError:
        raise ConfigError(
            f"`{key}` in {node.origin} holds an incomplete character, or one that is not in the "
            f"{sys.getfilesystemencoding()} of this locale: choose LC_ALL=C.UTF-8"
        ) from None
    if size > TEXT:
        raise ConfigError(
            f"`{key}` in {node.origin} has more than {TEXT:,} bytes, the most that a program takes "
            "as an argument or a variable: give it a file"
        )
    return word
