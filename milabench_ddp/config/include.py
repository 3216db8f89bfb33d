"""A file and all that it includes -> one mapping of name to benchmark."""

import os
from functools import reduce
from pathlib import Path

from ..errors import ConfigError
from .merge import merge_suites
from .paths import expanded, shown
from .read import read
from .shipped import by_name
from .tree import Items, Leaf, Node, Origin, Removed, Table, describe


def read_suite(path: Path) -> Table:
    """Read ``path`` and its includes: depth first, each before the file that includes it.

    A relative include starts from the including file, ``~`` is the home folder, and a word that is
    no file there is looked up among the shipped configurations. A file that is included twice
    counts twice, at both places. Raises ConfigError, also for an include loop.
    """
    return reduce(merge_suites, _layers(path, ()))


def _layers(path: Path, within: tuple[str, ...]) -> list[Table]:
    real = os.path.realpath(path)
    if real in within:
        loop = [*within[within.index(real) :], real]
        raise ConfigError(f"include loop: {' -> '.join(shown(file) for file in loop)}")
    top = read(path)
    layers = []
    for name, origin in _includes(top.entries.get("include")):
        layers += _layers(_find(name, origin), (*within, real))
    benchmarks = {
        name: _benchmark(name, node) for name, node in top.entries.items() if name != "include"
    }
    return [*layers, Table(benchmarks, top.origin)]


def _includes(node: Node | None) -> list[tuple[str, Origin]]:
    if node is None:
        return []
    found = []
    for item in node.items if isinstance(node, Items) else (node,):
        if not (isinstance(item, Leaf) and isinstance(item.value, str)):
            raise ConfigError(
                f"wrong value for `include` in {item.origin}: "
                f"expected a path or a list of paths, got {describe(item)}"
            )
        found.append((item.value, item.origin))
    return found


def _find(name: str, origin: Origin) -> Path:
    path = origin.folder / expanded(name)
    if path.is_file():
        return Path(os.path.normpath(path))
    named = by_name(name)
    if named is None:
        raise ConfigError(f"unknown include `{name}` in {origin}: no such file: {shown(path)}")
    return named


def _benchmark(name: str, node: Node) -> Node:
    if isinstance(node, Table | Removed):
        return node
    if isinstance(node, Leaf) and node.value is None:
        return Table({}, node.origin)
    raise ConfigError(
        f"wrong value for `{name}` in {node.origin}: "
        f"expected a mapping of the benchmark's keys, got {describe(node)}"
    )
