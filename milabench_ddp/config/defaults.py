"""What a benchmark has where its configuration does not say."""

from dataclasses import replace

from .facts import MachineFacts
from .tree import DEFAULT, Items, Leaf, Node, Table, is_null

MAX_DURATION = 600  # seconds
WEIGHT = 0


def complete(name: str, entry: Table, facts: MachineFacts) -> Table:
    """A settled benchmark with its defaults, and its tags sorted.

    A key whose value is null counts as not stated.
    """
    entries = {k: v for k, v in entry.entries.items() if not is_null(v)}
    group = entries.get("group", Leaf(name, DEFAULT))
    implicit: dict[str, Node] = {
        "enabled": Leaf(True, DEFAULT),
        "group": group,
        "install_group": Leaf(group.value if isinstance(group, Leaf) else name, DEFAULT),
        "install_variant": Leaf(facts.arch, DEFAULT),
        "max_duration": Leaf(MAX_DURATION, DEFAULT),
        "weight": Leaf(WEIGHT, DEFAULT),
    }
    for key, node in implicit.items():
        entries.setdefault(key, node)
    tags = entries.get("tags")
    if isinstance(tags, Items):
        entries["tags"] = _sorted(tags)
    return replace(entry, entries=entries)


def _sorted(tags: Items) -> Items:
    found: dict[str, Node] = {}
    for tag in tags.items:
        if not (isinstance(tag, Leaf) and isinstance(tag.value, str)):
            return tags  # of the wrong type, which the check of the keys says better
        found.setdefault(tag.value, tag)
    return replace(tags, items=tuple(found[name] for name in sorted(found)))
