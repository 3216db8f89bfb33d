"""``inherits``: a benchmark laid over its parents."""

from collections.abc import Mapping
from dataclasses import replace

from ..errors import ConfigError, did_you_mean
from .merge import merge_benchmark
from .tree import Items, Leaf, Node, Origin, Table, describe, is_null

ALL = "*"  # the entry that is laid over every benchmark


def inherit(entries: Mapping[str, Table]) -> dict[str, Table]:
    """Lay every entry over its parents (left to right), and ``"*"`` over all but templates.

    ``"*"`` counts once: parents are laid under their children without it. Raises ConfigError for
    a parent that is not defined, and for a cycle.
    """
    done: dict[str, Table] = {}
    for name in entries:
        if name != ALL:
            _resolve(name, entries, done, ())
    every = entries.get(ALL)
    if every is None:
        return {name: done[name] for name in entries}
    if "inherits" in every.entries:
        raise ConfigError(f'`"*"` cannot inherit: {every.entries["inherits"].origin}')
    return {
        name: done[name] if name.startswith("_") else _over(done[name], every)
        for name in entries
        if name != ALL
    }


def _resolve(
    name: str, entries: Mapping[str, Table], done: dict[str, Table], path: tuple[str, ...]
) -> Table:
    if name in done:
        return done[name]
    if name in path:
        raise ConfigError(_cycle([*path[path.index(name) :], name], entries))
    own = entries[name]
    older: Table | None = None
    for parent, origin in _parents(own.entries.get("inherits")):
        if parent not in entries or parent == ALL:
            hint = did_you_mean(parent, entries.keys() - {name, ALL})
            raise ConfigError(f"unknown parent `{parent}` of `{name}` in {origin}{hint}")
        resolved = _resolve(parent, entries, done, (*path, name))
        older = resolved if older is None else _over(older, resolved)
    rest = {key: value for key, value in own.entries.items() if key != "inherits"}
    child = replace(own, entries=rest)
    done[name] = child if older is None else _over(older, child)
    return done[name]


def _over(old: Table, new: Table) -> Table:
    merged = merge_benchmark(old, new)
    assert isinstance(merged, Table)
    return merged


def _parents(node: Node | None) -> list[tuple[str, Origin]]:
    if node is None or is_null(node):
        return []
    parents = []
    for item in node.items if isinstance(node, Items) else (node,):
        if not (isinstance(item, Leaf) and isinstance(item.value, str)):
            raise ConfigError(
                f"wrong value for `inherits` in {node.origin}: "
                f"expected a name or a list of names, got {describe(item)}"
            )
        parents.append((item.value, item.origin))
    return parents


def _cycle(names: list[str], entries: Mapping[str, Table]) -> str:
    steps = [f"`{name}` ({entries[name].entries['inherits'].origin})" for name in names[:-1]]
    return f"inherit cycle: {' -> '.join([*steps, f'`{names[-1]}`'])}"
