"""Which point of a sweep runs next, and on which nodes. Pure.

The largest first, so that caches warm on all nodes together; points that fit beside each other run
at the same time on disjoint nodes. While the largest that waits does not fit, the first nodes are
kept for it, and only the nodes beyond them go to smaller ones: it waits for what runs, no longer.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Point = TypeVar("Point")


def pick(
    waiting: Mapping[Point, int], free: Sequence[int], alive: Sequence[int]
) -> list[tuple[Point, tuple[int, ...]]]:
    """The points to start now, each with its nodes.

    Args:
        waiting: the points, and how many nodes each needs; of equals the first goes first.
        free: the nodes on which nothing runs, by their ranks.
        alive: all nodes that can be used, free or not.
    """
    rest = sorted(free)
    usable = sorted(alive)
    kept: set[int] = set()
    chosen = []
    for point, size in sorted(waiting.items(), key=lambda item: -item[1]):
        if size > len(usable):
            continue  # it cannot run any more; nobody waits for it
        open_to_it = [node for node in rest if node not in kept]
        if size <= len(open_to_it):
            nodes = tuple(open_to_it[:size])
            chosen.append((point, nodes))
            rest = [node for node in rest if node not in nodes]
        elif not kept:
            kept = set(usable[:size])
    return chosen
