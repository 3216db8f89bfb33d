"""The law by which a newer value is laid over an older one.

mapping + mapping          merged, key by key; the older one's order of keys comes first
list + ``{append: [...]}`` one list
anything + anything else   the newer one
``tags`` of a benchmark    united (sorted, once all is merged)

Laying over is associative, so that layers, parents and presets may be grouped at will: what is
still waiting for something older (``!delete``, ``append``, a mapping) stays so until `settle`.
"""

from dataclasses import replace

from ..errors import ConfigError
from .tree import Append, Items, Leaf, Node, Removed, Table


def merge(old: Node | None, new: Node) -> Node:
    """Lay ``new`` over ``old``; raises ConfigError where a list is appended to what is no list."""
    if old is None:
        return new
    if isinstance(new, Append):
        return _append(old, new)
    if not isinstance(new, Table):
        return new
    if new.fresh or not isinstance(old, Table):
        return replace(new, fresh=True)
    entries = dict(old.entries)
    for key, value in new.entries.items():
        entries[key] = merge(entries.get(key), value)
    return Table(entries, new.origin, old.fresh)


def merge_benchmark(old: Node | None, new: Node) -> Node:
    """`merge` for a whole benchmark, whose tags are united."""
    merged = merge(old, new)
    if not (isinstance(old, Table) and isinstance(new, Table)) or new.fresh:
        return merged
    assert isinstance(merged, Table)
    tags = _unite(old.entries.get("tags"), new.entries.get("tags"))
    return merged if tags is None else replace(merged, entries={**merged.entries, "tags": tags})


def merge_suites(old: Table, new: Table) -> Table:
    """Lay one file's benchmarks over those of an older one."""
    entries = dict(old.entries)
    for name, node in new.entries.items():
        entries[name] = merge_benchmark(entries.get(name), node)
    return Table(entries, new.origin)


def settle(node: Table) -> Table:
    """Carry out what still waits: drop what is removed, and make lists of what was appended."""
    entries = {
        key: _settled(value)
        for key, value in node.entries.items()
        if not isinstance(value, Removed)
    }
    return Table(entries, node.origin)


def _settled(node: Node) -> Node:
    match node:
        case Table():
            return settle(node)
        case Items() | Append():
            kept = (item for item in node.items if not isinstance(item, Removed))
            return Items(tuple(_settled(item) for item in kept), node.origin)
        case _:
            return node


def _append(old: Node, new: Append) -> Node:
    match old:
        case Append():
            return Append((*old.items, *new.items), new.origin)
        case Items():
            return Items((*old.items, *new.items), new.origin, old.fresh)
        case Removed() | Leaf(value=None):
            return Items(new.items, new.origin, fresh=True)
        case _:
            what = "a mapping" if isinstance(old, Table) else "a single value"
            raise ConfigError(
                f"`append` in {new.origin} adds to a list, but what it adds to is {what} "
                f"({old.origin})"
            )


def _unite(old: Node | None, new: Node | None) -> Node | None:
    if old is None or not isinstance(new, Items | Append):
        return new or old
    if isinstance(new, Items) and new.fresh:
        return new
    if not isinstance(old, Items | Append):
        return Items(new.items, new.origin, fresh=True)
    fresh = isinstance(old, Items) and old.fresh
    return Items((*old.items, *new.items), new.origin, fresh)
