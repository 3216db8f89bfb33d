"""``milabench resolve``: print the resolved configuration."""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache

import yaml

from ..config.load import Resolved, resolve
from ..config.tree import (
    Entries,
    ListNode,
    MappingNode,
    Scalar,
    ScalarNode,
    TreeNode,
    shown,
    to_plain,
)
from ..hidden import SECRETS
from ..options.suite import ResolveOptions
from ..visible import in_line
from . import setup


def main(options: ResolveOptions) -> int:
    sys.stdout.write(text(resolve(*setup.resolve_request(options)), explain=options.explain))
    return 0


def text(resolved: Resolved, *, explain: bool) -> str:
    """The selected benchmarks as YAML; with ``explain``, also where each value comes from."""
    chosen = {}
    for name, result in resolved.benchmarks.items():
        if resolved.selection.reason_against(name) is None:
            chosen[name] = result.entry
    SECRETS.learn({name: to_plain(entry) for name, entry in chosen.items()})
    said = [
        f"{shown(resolved.path)}, preset {resolved.preset}",
        *(f"warning: {each}" for each in resolved.warnings),
    ]
    head = "".join(f"# {in_line(each)}\n" for each in said)
    return head + to_yaml(chosen, explain=explain)


_PLAIN = re.compile(r"-{0,2}[A-Za-z_/][\w/.-]*(?: [\w/.-]+)*", re.ASCII)
_WIDE = 2**20  # characters: never folded


def to_yaml(entries: Entries, *, explain: bool) -> str:
    """Block YAML that loads to the same mapping.

    With ``explain``, each value is followed by ``# file:line``.
    """
    return "".join(f"{line}\n" for line in _table(entries, "", explain))


def _table(entries: Mapping[str, TreeNode], indent: str, explain: bool) -> Iterator[str]:
    for key, node in entries.items():
        yield from _entry(f"{indent}{scalar(key)}:", node, f"{indent}  ", explain)


def _entry(head: str, node: TreeNode, indent: str, explain: bool) -> Iterator[str]:
    if isinstance(node, MappingNode) and node.entries:
        yield head
        yield from _table(node.entries, indent, explain)
    elif isinstance(node, ListNode) and node.items:
        yield head
        for item in node.items:
            yield from _entry(f"{indent}-", item, f"{indent}  ", explain)
    else:
        line = f"{head} {_value(node)}"
        if explain:
            origin = " ".join(str(node.origin).split())  # an override may have several lines
            line += f"  # {origin}"
        yield line


def _value(node: TreeNode) -> str:
    if isinstance(node, ScalarNode):
        return scalar(node.value)
    return "{}" if isinstance(node, MappingNode) else "[]"


def scalar(value: Scalar) -> str:
    """A scalar as YAML on one line; text is quoted unless it plainly is text."""
    if isinstance(value, str):
        return _text(value)
    return str(yaml.safe_dump(value, width=_WIDE)).partition("\n")[0]


@lru_cache(4096)  # benchmarks have most words in common
def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return str(yaml.safe_dump(value, default_style='"', width=_WIDE)).rstrip("\n")
