"""A YAML file -> a tree with origins."""

import os
from pathlib import Path

import yaml

from ..errors import ConfigError, did_you_mean
from .paths import shown
from .tree import Append, Items, Leaf, Node, Origin, Removed, Scalar, Table

_PREFIX = "tag:yaml.org,2002:"
_TEXT = {"str", "timestamp", "value"}  # a date in a command line stays as it was written
_TAGS = {"!delete", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}


def read(path: Path) -> Table:
    """Read one YAML file, whose top must be a mapping; an empty file is an empty mapping.

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
    node = parse(text, source)
    if isinstance(node, Leaf) and node.value is None:
        return Table({}, node.origin)
    if not isinstance(node, Table):
        raise ConfigError(f"{node.origin}: the top of the file must be a mapping `name: ...`")
    return node


def parse(text: str, source: str, line: int | None = None) -> Node:
    """The tree of a YAML text. With ``line``, all of it is stated at that line of the source."""
    reader = _Reader(source, line)
    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_type(text)
        try:
            top = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise reader.broken(error) from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{reader.at(0)}: broken YAML: {error.reason}") from None
    return Leaf(None, reader.at(0)) if top is None else reader.node(top, reader.at_node(top))


class _Reader:
    def __init__(self, source: str, line: int | None) -> None:
        self.source = source
        self.line = line
        self.scalars = yaml.constructor.SafeConstructor()
        self.open: list[yaml.Node] = []  # the collections that are being read, against alias loops

    def at(self, line: int) -> Origin:
        return Origin(self.source, line + 1 if self.line is None else self.line)

    def broken(self, error: yaml.MarkedYAMLError) -> ConfigError:
        mark, begin = error.problem_mark or error.context_mark, error.context_mark
        message = f"{self.at(mark.line if mark else 0)}: broken YAML: {error.problem}"
        if begin and mark and begin.line < mark.line and (error.context or "").startswith("while"):
            message += f" {error.context}, which begins in line {begin.line + 1}"
        return ConfigError(message)

    def at_node(self, node: yaml.Node) -> Origin:
        return self.at(node.start_mark.line)

    def node(self, node: yaml.Node, origin: Origin) -> Node:
        if node.tag == "!delete":
            return Removed(origin)
        if not node.tag.startswith(_PREFIX):
            hint = did_you_mean(node.tag, _TAGS)
            raise ConfigError(f"unknown tag `{node.tag}` in {self.at_node(node)}{hint}")
        if isinstance(node, yaml.ScalarNode):
            return Leaf(self.scalar(node), origin)
        if node in self.open:
            raise ConfigError(f"{self.at_node(node)}: an alias that contains itself")
        self.open.append(node)
        try:
            return (
                self.items(node, origin)
                if isinstance(node, yaml.SequenceNode)
                else self.table(node, origin)
            )
        finally:
            self.open.pop()

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        kind = node.tag.removeprefix(_PREFIX)
        if kind in _TEXT:
            return str(node.value)
        try:
            match kind:
                case "null":
                    return None
                case "bool":
                    return bool(self.scalars.construct_yaml_bool(node))
                case "int":
                    return int(self.scalars.construct_yaml_int(node))
                case "float":
                    return float(self.scalars.construct_yaml_float(node))
        except (ValueError, KeyError):
            raise ConfigError(f"{self.at_node(node)}: `{node.value}` is no {kind}") from None
        raise ConfigError(f"unknown tag `!!{kind}` in {self.at_node(node)}")

    def items(self, node: yaml.Node, origin: Origin) -> Items:
        return Items(tuple(self.node(item, self.at_node(item)) for item in node.value), origin)

    def table(self, node: yaml.Node, origin: Origin) -> Table | Append:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            # The key's line stands for the value, whose own first line may be the next one.
            where = self.at_node(key)
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{where}: a key must be a plain word, not a list or a mapping")
            if key.tag == f"{_PREFIX}merge":
                merged = self.merged(value) | merged
                continue
            name = str(key.value)
            if name in entries:
                raise ConfigError(
                    f"key `{name}` in {where} is stated twice, first in {entries[name].origin}"
                )
            entries[name] = self.node(value, where)
        only = entries.get("append")
        if isinstance(only, Items) and len(entries) == 1 and not merged:
            return Append(only.items, origin)
        return Table(merged | entries, origin)

    def merged(self, value: yaml.Node) -> dict[str, Node]:
        """What ``<<: *anchor`` brings in; of a list of anchors the first wins."""
        found = self.node(value, self.at_node(value))
        tables = found.items if isinstance(found, Items) else (found,)
        entries: dict[str, Node] = {}
        for table in tables:
            if not isinstance(table, Table):
                raise ConfigError(f"{self.at_node(value)}: `<<` takes mappings")
            entries = {**table.entries, **entries}
        return entries
