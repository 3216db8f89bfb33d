"""Reads YAML into a tree in which each value has its origin."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from ..errors import ConfigError
from .checks import unknown
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
)

Warn = Callable[[str], None]
"""Gets a sentence about what is read as milabench reads it, and may not be what was meant."""
_PREFIX = "tag:yaml.org,2002:"
_TEXT = {"str", "timestamp", "value"}  # a date in a command line stays as it was written
_TAGS = {"!delete", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}
_SAFE = yaml.constructor.SafeConstructor()
_CONSTRUCT: Mapping[str, Callable[[yaml.ScalarNode], Scalar]] = {
    "bool": _SAFE.construct_yaml_bool,
    "float": _SAFE.construct_yaml_float,
    "int": _SAFE.construct_yaml_int,
    "null": _SAFE.construct_yaml_null,
}


def read_yaml(path: Path, warn: Warn | None = None) -> MappingNode:
    """Read one YAML file, whose top must be a mapping; an empty file is an empty mapping.

    Args:
        path: the file.
        warn: gets a sentence for each key that is stated twice, of which the last value counts, as
            in milabench; None: such a key is an error.

    Raises ConfigError for a file that is missing, unreadable, not UTF-8 or not YAML, for a key
    stated twice, and for a tag that is unknown.
    """
    source = os.path.abspath(path)  # noqa: PTH100 - a link is shown as it was given
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{shown(source)}: no such file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown(source)}: not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise ConfigError(f"{shown(source)}: cannot be read: {error.strerror}") from None
    node = parse_yaml(text, source, warn=warn)
    if is_null(node):
        return MappingNode({}, node.origin)
    if not isinstance(node, MappingNode):
        raise ConfigError(f"{node.origin}: the top of the file must be a mapping `name: ...`")
    return node


def parse_yaml(
    text: str, source: str, line: int | None = None, warn: Warn | None = None
) -> TreeNode:
    """The tree of a YAML text. With ``line``, all of it is stated at that line of the source."""
    reader = _Reader(source, line, warn)
    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        top = yaml.compose(text, loader_type)
    except yaml.MarkedYAMLError as error:
        raise reader.broken(error) from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{reader.origin(0)}: invalid YAML: {error.reason}") from None
    if top is None:
        return ScalarNode(None, reader.origin(0))
    return reader.node(top, reader.origin_of(top))


class _Reader:
    """Turns the nodes of the YAML library into a `TreeNode`."""

    def __init__(self, source: str, line: int | None, warn: Warn | None) -> None:
        self.source = source
        self.line = line
        self.warn = warn
        self.open: list[yaml.Node] = []  # the collections that are being read, against alias loops

    def origin(self, line: int) -> Origin:
        """The origin at a line of the library, which counts from 0."""
        return Origin(self.source, line + 1 if self.line is None else self.line)

    def origin_of(self, node: yaml.Node) -> Origin:
        return self.origin(node.start_mark.line)

    def broken(self, error: yaml.MarkedYAMLError) -> ConfigError:
        begin = error.context_mark
        mark = error.problem_mark or begin
        line = mark.line if mark else 0
        message = f"{self.origin(line)}: invalid YAML: {error.problem}"
        context = error.context or ""
        if begin and begin.line < line and context.startswith("while"):
            message += f" {context}, which begins on line {begin.line + 1}"
        return ConfigError(message)

    def node(self, node: yaml.Node, origin: Origin) -> TreeNode:
        if node.tag == "!delete":
            return DeleteNode(origin)
        if not node.tag.startswith(_PREFIX):
            raise unknown("tag", node.tag, self.origin_of(node), _TAGS)
        if isinstance(node, yaml.ScalarNode):
            return ScalarNode(self.scalar(node), origin)
        if node in self.open:
            raise ConfigError(f"{self.origin_of(node)}: an alias that contains itself")
        self.open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, origin)
            items = [self.node(item, self.origin_of(item)) for item in node.value]
            return ListNode(tuple(items), origin)
        finally:
            self.open.pop()

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        kind = node.tag.removeprefix(_PREFIX)
        if kind in _TEXT:
            return str(node.value)
        if kind not in _CONSTRUCT:
            raise unknown("tag", f"!!{kind}", self.origin_of(node), _TAGS)
        try:
            return _CONSTRUCT[kind](node)
        except (ValueError, KeyError):
            where = self.origin_of(node)
            raise ConfigError(f"{where}: `{node.value}` is not of type {kind}") from None

    def mapping(self, node: yaml.MappingNode, origin: Origin) -> MappingNode | ListNode:
        entries: dict[str, TreeNode] = {}
        merged: dict[str, TreeNode] = {}
        for key, value in node.value:
            # The value gets the line of its key; its own first line may be the next one.
            where = self.origin_of(key)
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{where}: a key must be a plain word, not a list or a mapping")
            if key.tag == f"{_PREFIX}merge":
                merged = {**self.merged(value), **merged}
                continue
            name = str(key.value)
            if name in entries:
                twice = f"key `{name}` in {where} is stated twice, first in {entries[name].origin}"
                if self.warn is None:
                    raise ConfigError(twice)
                self.warn(f"{twice}: the last one counts, as in milabench")
            entries[name] = self.node(value, where)
        appended = entries.get("append")
        if isinstance(appended, ListNode) and len(entries) == 1 and not merged:
            return ListNode(appended.items, origin, appends=True)
        return MappingNode(merged | entries, origin)

    def merged(self, value: yaml.Node) -> dict[str, TreeNode]:
        """The entries that ``<<: *anchor`` adds; in a list of anchors, the first one wins."""
        origin = self.origin_of(value)
        found = self.node(value, origin)
        mappings = found.items if isinstance(found, ListNode) else (found,)
        entries: dict[str, TreeNode] = {}
        for mapping in mappings:
            if not isinstance(mapping, MappingNode):
                raise ConfigError(f"{origin}: `<<` takes mappings")
            entries = {**mapping.entries, **entries}
        return entries
