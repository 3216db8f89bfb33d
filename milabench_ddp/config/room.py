"""How much more a configuration may hold, up to its limits."""

from msgspec import Struct, field

from ..errors import ConfigError
from . import limits
from .tree import ListNode, MappingNode, Origin, TreeNode


class Room(Struct):
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

    def take_all(self, node: TreeNode, origin: Origin) -> None:
        """Count a value, and all that are in it."""
        self.take(size(node, self.values + 1), origin)


def size(node: TreeNode, most: int) -> int:
    """The number of values of a tree; it counts no further than ``most``."""
    count, left = 0, [node]
    while left and count < most:
        count += 1
        match left.pop():
            case ListNode(items=items):
                left += items
            case MappingNode(entries=entries):
                left += entries.values()
    return count
