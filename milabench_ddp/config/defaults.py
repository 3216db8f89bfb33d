"""The values of the keys that a benchmark does not state."""

from msgspec.structs import fields, replace

from .schema import Keys
from .tree import DEFAULT, ListNode, MappingNode, ScalarNode, TreeNode, is_null, text_of


def with_defaults(name: str, entry: MappingNode, arch: str) -> MappingNode:
    """A final benchmark with its defaults, and its tags sorted.

    A key whose value is null counts as not stated.
    """
    stated = dict(entry.entries)
    for key, node in entry.entries.items():
        if is_null(node):
            del stated[key]
    group = text_of(stated.get("group")) or name
    for declared in fields(Keys):
        default = declared.default
        if isinstance(default, str):
            default = default.format(name=name, group=group, arch=arch)
        if default is not None and declared.name not in stated:
            stated[declared.name] = ScalarNode(default, DEFAULT)
    tags = stated.get("tags")
    if isinstance(tags, ListNode):
        stated["tags"] = _sorted(tags)
    return replace(entry, entries=stated)


def _sorted(tags: ListNode) -> ListNode:
    found: dict[str, TreeNode] = {}
    for tag in tags.items:
        name = text_of(tag)
        if name is None:
            return tags  # of the wrong type: the check of its key has the better message
        found.setdefault(name, tag)
    in_order = [found[name] for name in sorted(found)]
    return replace(tags, items=tuple(in_order))
