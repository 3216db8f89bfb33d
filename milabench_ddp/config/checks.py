"""What the value of a key may be, as small functions that are put together in tables."""

from collections.abc import Callable, Iterable, Mapping
from math import inf, isfinite

from ..errors import ConfigError, did_you_mean
from .tree import Items, Leaf, Node, Table, describe, is_null

Check = Callable[[str, Node], None]  # takes the key as it is shown, and its value


def wrong(key: str, node: Node, expected: str) -> ConfigError:
    """The error for a value that is not what its key takes."""
    return ConfigError(
        f"wrong value for `{key}` in {node.origin}: expected {expected}, got {describe(node)}"
    )


def only(known: Iterable[str], table: Table) -> None:
    """Raise ConfigError for a key that is not among the known ones."""
    for key, node in table.entries.items():
        if key not in known:
            raise ConfigError(f"unknown key `{key}` in {node.origin}{did_you_mean(key, known)}")


def free(key: str, node: Node) -> None:
    """Anything: the key has no meaning here and is kept for the record."""


def flag(key: str, node: Node) -> None:
    """``true`` or ``false``."""
    if not (isinstance(node, Leaf) and isinstance(node.value, bool)):
        raise wrong(key, node, "true or false")


def text(key: str, node: Node) -> None:
    """Some text."""
    if not (isinstance(node, Leaf) and isinstance(node.value, str) and node.value):
        raise wrong(key, node, "a text")


def texts(key: str, node: Node) -> None:
    """A list of texts."""
    if not isinstance(node, Items):
        raise wrong(key, node, "a list of texts")
    for item in node.items:
        if not (isinstance(item, Leaf) and isinstance(item.value, str)):
            raise wrong(key, item, "a list of texts")


def single(key: str, node: Node) -> None:
    """Any scalar."""
    if not isinstance(node, Leaf):
        raise wrong(key, node, "a single value")


def whole(least: int) -> Check:
    """An integer, ``least`` or more."""

    def check(key: str, node: Node) -> None:
        value = node.value if isinstance(node, Leaf) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise wrong(key, node, f"an integer, {least} or more")

    return check


def number(expected: str, low: float, high: float = inf, *, above: bool = False) -> Check:
    """A finite number from ``low`` (or above it) to ``high``; ``expected`` says so in words."""

    def check(key: str, node: Node) -> None:
        value = node.value if isinstance(node, Leaf) else None
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise wrong(key, node, expected)
        if not low <= value <= high or (above and value == low):
            raise wrong(key, node, expected)

    return check


def one_of(*words: str) -> Check:
    """One of these words."""

    def check(key: str, node: Node) -> None:
        value = node.value if isinstance(node, Leaf) else None
        if value not in words:
            expected = " or ".join(f"`{word}`" for word in words)
            hint = did_you_mean(value, words) if isinstance(value, str) else ""
            raise ConfigError(f"{wrong(key, node, expected)}{hint}")

    return check


def mapping(checks: Mapping[str, Check], required: Iterable[str] = ()) -> Check:
    """A mapping with these keys; null counts as not stated."""

    def check(key: str, node: Node) -> None:
        if not isinstance(node, Table):
            raise wrong(key, node, "a mapping")
        only(checks, node)
        for name in required:
            if name not in node.entries:
                raise ConfigError(f"`{key}` in {node.origin} has no `{name}`")
        for name, value in node.entries.items():
            if name in required or not is_null(value):
                checks[name](f"{key}.{name}", value)

    return check


def list_of(item_check: Check) -> Check:
    """A list of such values."""

    def check(key: str, node: Node) -> None:
        if not isinstance(node, Items):
            raise wrong(key, node, "a list")
        for at, item in enumerate(node.items):
            item_check(f"{key}[{at}]", item)

    return check
