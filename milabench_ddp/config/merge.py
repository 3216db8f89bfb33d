"""How layers are merged: the files that include one another, and a benchmark and its parents.

mapping + mapping          merged, key by key; the older one's order of keys comes first
list + ``{append: [...]}`` one list
anything + anything else   the newer one
``tags`` of a benchmark    united (sorted, once all is merged)
``presets`` of a benchmark merged, without the keys that the newer layer states itself

Merging is associative, so layers, parents and presets may be merged in any grouping: a value
that waits for an older one (``!delete``, ``append``, a mapping) goes on waiting until `finalize`.
"""

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from msgspec.structs import replace

from ..errors import ConfigError, did_you_mean
from .checks import as_mapping, wrong
from .limits import DEPTH, FILES
from .mistakes import Apart, MistakeError, collected
from .shipped import find_shipped, shipped_files
from .tree import (
    DeleteNode,
    Entries,
    ListNode,
    MappingNode,
    Origin,
    TreeNode,
    expanded,
    is_file,
    is_null,
    items_of,
    shown,
    text_of,
)
from .written import check_written
from .yaml_reader import SizeBudget, Warn, read_yaml

_MULTIRUN = "multirun"  # an entry of milabench that is no benchmark
ALL = "*"  # the entry that is merged into every benchmark


class Level(Enum):
    """What a node of a configuration is, which decides how it is merged."""

    SUITE = 1
    BENCHMARK = 2  # or its job
    TAGS = 3
    VALUE = 4


def merge(old: TreeNode | None, new: TreeNode, level: Level = Level.VALUE) -> TreeNode:
    """Merge ``new`` into ``old``; raises ConfigError if ``append`` does not meet a list."""
    if old is None:
        return new
    is_united = level is Level.TAGS and not getattr(new, "replaces", False)
    if isinstance(new, ListNode) and (new.appends or is_united):
        return _append(old, new)
    if not isinstance(new, MappingNode):
        return new
    if not isinstance(old, MappingNode):
        return replace(new, replaces=True)
    return merge_mappings(old, new, level)


def merge_mappings(old: MappingNode, new: MappingNode, level: Level) -> MappingNode:
    """Merge them key by key; the keys of a benchmark win over its older presets."""
    if new.replaces:
        return new
    entries = dict(old.entries)
    if level is Level.BENCHMARK:
        presets = old.mapping("presets")
        if presets.entries:
            layers = {name: _without_stated(each, new) for name, each in presets.entries.items()}
            entries["presets"] = replace(presets, entries=layers)
    for key, value in new.entries.items():
        inside = Level.VALUE
        if level is Level.SUITE or (level is Level.BENCHMARK and key == "job"):
            inside = Level.BENCHMARK
        elif level is Level.BENCHMARK and key == "tags":
            inside = Level.TAGS
        entries[key] = merge(entries.get(key), value, inside)
    return MappingNode(entries, new.origin, old.replaces)


def merge_benchmark(old: MappingNode, new: MappingNode) -> MappingNode:
    return merge_mappings(old, new, Level.BENCHMARK)


def _without_stated(preset: TreeNode, newer: MappingNode) -> TreeNode:
    if not isinstance(preset, MappingNode):
        return preset
    kept = {}
    for key, value in preset.entries.items():
        stated = newer.get(key)
        appends = isinstance(stated, ListNode) and stated.appends
        if stated is None or (appends and isinstance(value, ListNode) and value.appends):
            kept[key] = value
        elif appends:
            kept[key] = merge(value, stated)
        elif isinstance(stated, MappingNode):
            if not isinstance(value, MappingNode) or value.replaces:
                kept[key] = merge(value, stated)
            elif not stated.replaces:
                kept[key] = _without_stated(value, stated)
    return replace(preset, entries=kept)


def _append(old: TreeNode, new: ListNode) -> ListNode:
    if isinstance(old, ListNode):
        return replace(old, items=old.items + new.items, origin=new.origin)
    if new.appends and not isinstance(old, DeleteNode) and not is_null(old):
        found = "a mapping" if isinstance(old, MappingNode) else "a single value"
        raise MistakeError(
            f"`append` in {new.origin} adds to a list, but its key holds {found} ({old.origin})",
            new.origin,
        )
    return ListNode(new.items, new.origin, replaces=True)


def read_suite(path: Path, warn: Warn | None = None) -> MappingNode:
    """Read ``path`` and its includes: depth first, each before the file that includes it.

    A relative include starts from the including file, and ``~`` is the home folder. A name without
    a file there is looked up among the shipped configurations. A file that is included twice is
    merged twice, at both places. ``warn`` gets what milabench takes, and what has no effect
    here; without it, a key that is stated twice is an error.
    Raises ConfigError, also for an include loop, and for more than a suite may hold.
    """
    return _read_within((), path, warn, SizeBudget())


def _read_within(
    including: tuple[str, ...], path: Path, warn: Warn | None, budget: SizeBudget
) -> MappingNode:
    """The suite of a file; ``including`` are the files that lead to it, by their real paths."""
    real = os.path.realpath(path)
    chain = (*including, real)
    if real in including:
        raise ConfigError(f"include loop: {' -> '.join(map(shown, chain[chain.index(real) :]))}")
    top = read_yaml(path, warn, budget)
    suite = MappingNode({}, top.origin)
    with collected():  # a suite without one of its files is not checked
        for name, origin in _named("include", top, "a path or a list of paths"):
            budget.files -= 1
            if budget.files < 0 or len(chain) == DEPTH:
                raise ConfigError(
                    f"`include` in {origin}: a configuration includes at most {FILES:,} files, "
                    f"nested at most {DEPTH} deep: merge some"
                )
            with Apart():
                included = _read_within(chain, _included(name, origin), warn, budget)
                suite = merge_mappings(suite, included, Level.SUITE)
    own = without_multirun(top, warn)
    entries = {}
    for name, node in own.without("include").entries.items():
        entries[name] = MappingNode({}, node.origin) if is_null(node) else node
        if not is_null(node) and not isinstance(node, DeleteNode):
            with Apart():
                check_written(as_mapping(name, node, "the keys of a benchmark, below its name"))
    return merge_mappings(suite, replace(own, entries=entries), Level.SUITE)


def without_multirun(top: MappingNode, warn: Warn | None) -> MappingNode:
    """The mapping without the runs that milabench makes to size its benchmarks."""
    node = top.get(_MULTIRUN)
    if node is not None and warn is not None:
        place = f"`{_MULTIRUN}` in {node.origin}"
        warn(f"{place} has no effect: its `runs` are for milabench's own sizing")
    return top.without(_MULTIRUN)


def _included(name: str, origin: Origin) -> Path:
    path = origin.folder / expanded(name)
    if is_file(path):
        return Path(os.path.normpath(path))
    shipped = find_shipped("config", name)
    if shipped is None:
        raise MistakeError(
            f"unknown include `{name}` in {origin}: no such file: {shown(path)}", origin
        )
    return shipped


def _named(key: str, mapping: MappingNode, expected: str) -> Iterator[tuple[str, Origin]]:
    node = mapping.get(key)
    if node is None or is_null(node):
        return
    for item in items_of(node):
        name = text_of(item)
        if name is None:
            raise wrong(key, item, expected)
        yield name, item.origin


def inherit(entries: Entries) -> Entries:
    """Merge every entry into its parents (left to right), and ``"*"`` into all but templates.

    ``"*"`` counts once: parents are merged into their children without it. Raises ConfigError for
    a parent that is not defined, and for a cycle.
    """
    every = entries.get(ALL)
    if every is not None and "inherits" in every.entries:
        raise MistakeError(
            f'`"*"` cannot inherit: {every.entries["inherits"].origin}',
            every.entries["inherits"].origin,
        )
    resolved: dict[str, MappingNode] = {}
    inherited = {}
    budget = SizeBudget()
    for name in entries:
        if name == ALL:
            continue
        inherited[name] = entries[name]
        with Apart():  # without its parents it keeps its key `inherits`
            entry = _with_parents(name, entries, resolved, ())
            if every is not None and not name.startswith("_"):
                entry = merge_benchmark(entry, every)
            budget.take_all(entry)
            inherited[name] = entry
    return inherited


def _with_parents(
    name: str,
    entries: Entries,
    resolved: dict[str, MappingNode],
    path: tuple[str, ...],
) -> MappingNode:
    if name in resolved:
        return resolved[name]
    if name in path:
        loop = (*path[path.index(name) :], name)
        raise ConfigError(
            f"inherit cycle: {' -> '.join(loop)} ({entries[name].entries['inherits'].origin})"
        )
    own = entries[name]
    parents = list(_named("inherits", own, "a name or a list of names"))
    if parents and max(len(path), len(parents)) > DEPTH:
        raise ConfigError(
            f"`inherits` of `{name}` in {own.origin}: at most {DEPTH} parents, and at most {DEPTH} "
            "generations of them: merge some"
        )
    merged = MappingNode({}, own.origin)
    for parent, origin in parents:
        if parent not in entries or parent == ALL:
            hint = did_you_mean(parent, entries.keys() - {name, ALL}) or _shipped_in(parent)
            raise MistakeError(
                f"unknown parent `{parent}` of `{name}` in {origin}{hint}", origin, parent
            )
        ancestor = _with_parents(parent, entries, resolved, (*path, name))
        merged = merge_benchmark(merged, ancestor)
    resolved[name] = merge_benchmark(merged, own.without("inherits"))
    return resolved[name]


def _shipped_in(parent: str) -> str:
    for name, path in shipped_files("config").items():
        if f"\n{parent}:" in path.read_text():
            return f": add `include: {name}.yaml`, which has it"
    return ""
