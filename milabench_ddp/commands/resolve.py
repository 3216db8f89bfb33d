"""``milabench resolve``: print the resolved configuration."""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TextIO

import yaml

from ..config.conditions import MachineFacts
from ..config.load import SuiteRequest, resolve
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
    return run(*setup.resolve_request(options), options.explain, sys.stdout)


def run(request: SuiteRequest, facts: MachineFacts, explain: bool, out: TextIO) -> int:
    """Print the selected benchmarks as YAML; with ``explain``, also where each value comes from."""
    resolved = resolve(request, facts)
    chosen = {}
    for name, result in resolved.benchmarks.items():
        if resolved.selection.reason_against(name) is None:
            chosen[name] = result.entry
    SECRETS.learn({name: to_plain(entry) for name, entry in chosen.items()})
    out.write(f"# {in_line(shown(resolved.path))}, preset {resolved.preset}\n")
    for said in resolved.warnings:
        out.write(f"# warning: {in_line(said)}\n")
    out.write(to_yaml(chosen, explain=explain))
    return 0


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
    if isinstance(value, float):  # -0.0 equals 0.0
        return _dumped(value)
    return _text(value)


@lru_cache(4096, typed=True)  # benchmarks have most words in common
def _text(value: Scalar) -> str:
    if not isinstance(value, str):
        return _dumped(value)
    if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return str(yaml.safe_dump(value, default_style='"', width=_WIDE)).rstrip("\n")


def _dumped(value: Scalar) -> str:
    return str(yaml.safe_dump(value, width=_WIDE)).partition("\n")[0]
