"""How large a configuration may be; a larger one is refused before it costs time or memory."""

from msgspec import Struct, field

from ..errors import ConfigError
from .tree import ListNode, MappingNode, Origin, TreeNode

FILE_BYTES = 16 * 2**20
VALUES = 250_000  # lists, mappings and what is in them; each use of an alias counts
DEPTH = 50  # nested lists and mappings, includes, parents
NUMBER = 100  # characters
BITS = 64  # of a whole number
FILES = 1_000  # that a configuration includes; one that is included twice counts twice
BENCHMARKS = 10_000
REFERENCES = 10_000  # of `${...}` to a value
CONDITION = 500  # characters
SECONDS = 2_000_000  # 23 days; epoll waits for at most 2**31 ms


class Room(Struct):
    """How much more a configuration may hold."""

    values: int = field(default_factory=lambda: VALUES)
    files: int = FILES

    def take(self, values: int, origin: Origin) -> None:
        """Count values that are stated at ``origin``; raises ConfigError if they do not fit."""
        self.values -= values
        if self.values < 0:
            raise ConfigError(
                f"{origin}: from here on the configuration has more than {VALUES:,} values "
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
