"""Reads YAML into a tree in which each value has its origin, with bounds on time and memory."""

import errno
import os
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from ..errors import ConfigError
from . import limits
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
from .validate import unknown

Warn = Callable[[str], None]
"""Gets a sentence about what is read as milabench reads it, and may not be what was meant."""
PATIENCE = 10.0  # seconds in which a pipe must send something

_CHUNK = 2**20  # bytes
_PREFIX = "tag:yaml.org,2002:"
# A date in a command line stays as it was written; so do `=` and `<<`.
_TEXTS = {f"{_PREFIX}{kind}" for kind in ("str", "timestamp", "value", "merge")}
_TAGS = {"!delete", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}
_VALUES = {f"{_PREFIX}{kind}" for kind in ("bool", "float", "int", "null")}
_SAFE: Any = yaml.constructor.SafeConstructor()
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
        """Count a value, and all that are in it."""
        self.take(sum(1 for _ in islice(walk(node), self.values + 1)), node.origin)


def read_limited(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file, or of a pipe such as ``<(command)``.

    Raises:
        OSError: it is not there, cannot be read, is neither a file nor a pipe, holds more than
            ``most`` bytes, or is a pipe that is silent for ``PATIENCE`` seconds.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(fd, "rb", buffering=0) as file:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "neither a file nor a pipe")
        content = bytearray()
        while len(content) <= most:
            if stat.S_ISFIFO(mode):
                _await(fd)
            chunk = file.read(_CHUNK)
            if not chunk:
                return bytes(content)
            content += chunk
    raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MiB")


def _await(pipe: int) -> None:
    import select  # few files are pipes

    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"nothing has come from this pipe for {PATIENCE:g} s")


def read_yaml(
    path: Path, warn: Warn | None = None, budget: SizeBudget | None = None
) -> MappingNode:
    """Read one YAML file, whose top must be a mapping; an empty file is an empty mapping.

    Args:
        path: the file.
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
        raise ConfigError(f"{node.origin}: the top of the file must be a mapping `name: ...`")
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
        self.budget.take(1, origin)
        if node.tag == "!delete":
            return DeleteNode(origin)
        if isinstance(node, yaml.ScalarNode):
            return ScalarNode(self.scalar(node), origin)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != f"{_PREFIX}{kind}":
            raise self.unknown_tag(node)
        if node in self.open:
            raise ConfigError(f"{self.origin_of(node)}: an alias that contains itself")
        if len(self.open) == limits.DEPTH:  # by aliases
            raise ConfigError(f"{origin}: {TOO_DEEP}")
        self.open.append(node)
        found: TreeNode
        if isinstance(node, yaml.MappingNode):
            found = self.mapping(node, origin)
        else:
            items = [self.node(item, self.origin_of(item)) for item in node.value]
            found = ListNode(tuple(items), origin)
        self.open.pop()
        return found

    def unknown_tag(self, node: yaml.Node) -> ConfigError:
        tag = node.tag
        if tag.startswith(_PREFIX):
            tag = f"!!{tag.removeprefix(_PREFIX)}"
        return unknown("tag", tag, self.origin_of(node), _TAGS - {tag})

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        where, text = self.origin_of(node), str(node.value)
        if "\0" in text:
            raise ConfigError(f"{where}: a text that holds a null character")
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
            raise ConfigError(f"{where}: `{text}` is not of type {kind}") from None
        if is_long or (isinstance(value, int) and value.bit_length() > limits.BITS):
            raise ConfigError(
                f"{where}: `{text}` is too long for a number: put it in quotes if it is a text"
            )
        return value

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
            self.scalar(key)  # checks it
            name = str(key.value)
            if name in entries:
                twice = f"key `{name}` in {where} is stated twice, first in {entries[name].origin}"
                if self.warn is None:
                    raise ConfigError(twice)
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
                raise ConfigError(f"{origin}: `<<` takes mappings")
            entries |= mapping.entries
        return entries
