"""Reads YAML into a tree in which each value has its origin, with bounds on time and memory."""

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from ..errors import ConfigError
from . import limits
from .checks import unknown
from .limited import read_limited
from .mistakes import MistakeError
from .tree import (
    DeleteNode,
    ListNode,
    MappingNode,
    Origin,
    Scalar,
    ScalarNode,
    TreeNode,
    is_null,
    shown,
    walk,
)

Warn = Callable[[str], None]
"""Gets a sentence about what is read as milabench reads it, and may not be what was meant."""

_PREFIX = "tag:yaml.org,2002:"
# A date in a command line stays as it was written; so do `=` and `<<`.
_TEXTS = {f"{_PREFIX}{kind}" for kind in ("str", "timestamp", "value", "merge")}
_TAGS = {"!delete", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}
_VALUES = {f"{_PREFIX}{kind}" for kind in ("bool", "float", "int", "null")}
_SAFE: Any = yaml.constructor.SafeConstructor()
# What is often meant where the library says so, and whether its line is where the context begins.
_HINTS = {
    "tab character": ("indent with blanks", False),
    "cannot start any token": ("put this into quotes, or indent with blanks", False),
    "expected key": ("indent this line as those beside it", False),
    "mapping values are not allowed": ("put this into quotes, or indent it as it is meant", False),
    "expected ':'": ("a key ends with a colon", True),
    "expected ',' or": ("close the bracket", True),
}
TOO_DEEP = f"more than {limits.DEPTH} nested lists and mappings: flatten them"


class SizeBudget(Struct):
    """How much more a configuration may hold."""

    values: int = field(default_factory=lambda: limits.VALUES)
    files: int = limits.FILES

    def take(self, values: int, origin: Origin) -> None:
        """Count values that are stated at ``origin``; raises ConfigError if they do not fit."""
        self.values -= values
        if self.values < 0:
            raise ConfigError(
                f"{origin}: from here on the configuration has more than {limits.VALUES:,} values "
                "(each use of an alias, a parent or a matrix counts): state fewer"
            )

    def take_all(self, node: TreeNode) -> None:
        self.take(sum(1 for _ in islice(walk(node), self.values + 1)), node.origin)


def read_yaml(
    path: Path, warn: Warn | None = None, budget: SizeBudget | None = None
) -> MappingNode:
    """Read one YAML file, whose top must be a mapping; an empty file is an empty mapping.

    Args:
        warn: gets a sentence for each key that is stated twice, of which the last value counts, as
            in milabench; None: such a key is an error.
        budget: how much it may hold; None for a file that is read alone.

    Raises ConfigError for a file that is missing, unreadable, too large, not UTF-8 or not YAML, for
    a key stated twice, and for a tag that is unknown.
    """
    source = os.path.abspath(path)  # noqa: PTH100 - a link is shown as it was given
    where = shown(source)
    try:
        data = read_limited(source, limits.FILE_BYTES)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{where}: no such file") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{where}:{line}: not UTF-8 text: {error.reason}: save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror}") from None
    node = parse_yaml(text, source, warn=warn, budget=budget)
    if is_null(node):
        return MappingNode({}, node.origin)
    if not isinstance(node, MappingNode):
        said = f"{node.origin}: the top of the file must be a mapping `name: ...`"
        raise MistakeError(said, node.origin)
    return node


def parse_yaml(
    text: str,
    source: str,
    line: int | None = None,
    warn: Warn | None = None,
    budget: SizeBudget | None = None,
) -> TreeNode:
    """The tree of a YAML text. With ``line``, all of it is stated at that line of the source."""
    reader = _Reader(source, line, warn, budget or SizeBudget())
    try:
        top = yaml.compose(text, _Loader)
    except yaml.MarkedYAMLError as error:
        raise reader.broken(error) from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{reader.origin(0)}: invalid YAML: {error.reason}") from None
    except UnicodeEncodeError:  # an argument with bytes that are not UTF-8
        raise ConfigError(f"{reader.origin(0)}: not UTF-8 text") from None
    if top is None:
        return ScalarNode(None, reader.origin(0))
    return reader.node(top, reader.origin_of(top))


_YamlLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_YamlLoader):  # type: ignore[misc]
    """The library's loader, which stops where a text is too large to be composed.

    Written in C, it would not notice that its stack or the memory is full.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = self.values = 0

    def descend_resolver(self, parent: yaml.Node | None, index: object) -> None:
        """The library calls it before it composes a value of ``parent``."""
        del index
        self.depth += 1
        self.values += 1
        problem = None
        if self.depth > limits.DEPTH + 1:
            problem = TOO_DEEP
        elif self.values > limits.VALUES:
            problem = f"more than {limits.VALUES:,} values: state fewer"
        if problem and parent:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=parent.start_mark)

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _Reader(Struct):
    """Turns the nodes of the YAML library into a `TreeNode`."""

    source: str
    line: int | None
    warn: Warn | None
    budget: SizeBudget
    open: list[yaml.Node] = []  # the collections that are being read, against alias loops

    def origin(self, line: int, column: int = -1) -> Origin:
        """The origin at a line and a column of the library, which counts from 0."""
        if self.line is not None:
            return Origin(self.source, self.line)
        return Origin(self.source, line + 1, column + 1)

    def origin_of(self, node: yaml.Node, value: yaml.Node | None = None) -> Origin:
        mark = node.start_mark
        if value is not None and value.start_mark.line == mark.line:
            mark = value.start_mark
        return self.origin(mark.line, mark.column)

    def broken(self, error: yaml.MarkedYAMLError) -> MistakeError:
        begin = error.context_mark
        mark = error.problem_mark or begin
        line = mark.line if mark else 0
        origin = self.origin(line, mark.column if mark else -1)
        message = f"{origin}: invalid YAML: {error.problem}"
        context = error.context or ""
        if begin and begin.line < line and context.startswith("while"):
            message += f" {context}, which begins on line {begin.line + 1}"
        for problem, (hint, is_of_context) in _HINTS.items():
            if problem in str(error.problem):
                message += f": {hint}"
                if is_of_context and begin:
                    origin = self.origin(begin.line, begin.column)
        return MistakeError(message, origin)

    def node(self, node: yaml.Node, origin: Origin) -> TreeNode:
        self.budget.take(1, origin)
        if node.tag == "!delete":
            return DeleteNode(origin)
        if isinstance(node, yaml.ScalarNode):
            return ScalarNode(self.scalar(node), origin)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != f"{_PREFIX}{kind}":
            raise self.unknown_tag(node)
        if node in self.open:
            where = self.origin_of(node)
            raise MistakeError(f"{where}: an alias that contains itself", where)
        if len(self.open) == limits.DEPTH:  # by aliases
            raise MistakeError(f"{origin}: {TOO_DEEP}", origin)
        self.open.append(node)
        found: TreeNode
        if isinstance(node, yaml.MappingNode):
            found = self.mapping(node, origin)
        else:
            items = [self.node(item, self.origin_of(item)) for item in node.value]
            found = ListNode(tuple(items), origin)
        self.open.pop()
        return found

    def unknown_tag(self, node: yaml.Node) -> MistakeError:
        tag = node.tag
        if tag.startswith(_PREFIX):
            tag = f"!!{tag.removeprefix(_PREFIX)}"
        return unknown("tag", tag, self.origin_of(node), _TAGS - {tag})

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        where, text = self.origin_of(node), str(node.value)
        if "\0" in text:
            raise MistakeError(f"{where}: a text that holds a null character", where)
        if node.tag in _TEXTS:
            return text
        if node.tag not in _VALUES:
            raise self.unknown_tag(node)
        is_long = len(text) > limits.NUMBER
        try:
            value: Scalar = None
            if not is_long:
                value = _SAFE.yaml_constructors[node.tag](_SAFE, node)
        except (ValueError, LookupError, OverflowError):
            kind = node.tag.removeprefix(_PREFIX)
            raise MistakeError(f"{where}: `{text}` is not of type {kind}", where) from None
        if is_long or (isinstance(value, int) and value.bit_length() > limits.BITS):
            raise MistakeError(
                f"{where}: `{text}` is too long for a number: put it in quotes if it is a text",
                where,
            )
        return value

    def mapping(self, node: yaml.MappingNode, origin: Origin) -> MappingNode | ListNode:
        entries: dict[str, TreeNode] = {}
        merged: dict[str, TreeNode] = {}
        for key, value in node.value:
            # The value gets the line of its key; its own first line may be the next one.
            where = self.origin_of(key, value)
            if not isinstance(key, yaml.ScalarNode):
                said = f"{where}: a key must be a plain word, not a list or a mapping"
                raise MistakeError(said, self.origin_of(key))
            if key.tag == f"{_PREFIX}merge":
                merged = {**self.merged(value), **merged}
                continue
            self.scalar(key)  # checks it
            name = str(key.value)
            if name in entries:
                twice = f"key `{name}` in {where} is stated twice, first in {entries[name].origin}"
                if self.warn is None:
                    raise MistakeError(twice, where, name)
                self.warn(f"{twice}: the last one counts, as in milabench")
            entries[name] = self.node(value, where)
        match merged | entries:
            case {"append": ListNode(items), **others} if not others:
                return ListNode(items, origin, appends=True)
            case found:
                return MappingNode(found, origin)

    def merged(self, value: yaml.Node) -> dict[str, TreeNode]:
        """The entries that ``<<: *anchor`` adds; in a list of anchors, the first one wins."""
        origin = self.origin_of(value)
        found = self.node(value, origin)
        entries: dict[str, TreeNode] = {}
        for mapping in reversed(found.items if isinstance(found, ListNode) else (found,)):
            if not isinstance(mapping, MappingNode):
                raise MistakeError(f"{origin}: `<<` takes mappings", origin)
            entries |= mapping.entries
        return entries
