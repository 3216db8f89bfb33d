"""Decides which benchmarks start now, and on which nodes. Pure."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Name = TypeVar("Name")


def pick(
    waiting: Mapping[Name, int],
    free: Sequence[int],
    alive: Sequence[int],
    own: Mapping[Name, Sequence[int]] | None = None,
    *,
    largest_first: bool = True,
) -> list[tuple[Name, tuple[int, ...]]]:
    """The benchmarks to start now, each with its nodes.

    The largest benchmark is first, so that caches warm on all nodes together; or the first of the
    given order is. Benchmarks that fit beside each other run at the same time on disjoint nodes. If
    the first one does not fit, nodes are kept for it, and the later ones get only the other nodes:
    so it waits only for benchmarks that already run.

    Args:
        waiting: the benchmarks and how many nodes each needs; of equal size, the first is first.
        free: the ranks of the nodes on which nothing runs.
        alive: the ranks of all nodes that can be used, free or not.
        own: the nodes of those that go on where they ran before.
        largest_first: whether they start by their size; if not, in the order of ``waiting``.
    """
    rest, usable, own = sorted(free), sorted(alive), own or {}
    kept: set[int] = set()
    chosen = []
    order = sorted(waiting, key=waiting.__getitem__, reverse=True) if largest_first else waiting
    for name in order:
        size = waiting[name]
        wanted = own.get(name) or usable[:size]
        if size > len(usable) or not set(wanted) <= set(usable):
            continue  # it cannot run any more; no node is kept for it
        open_to_it = [
            node for node in rest if node not in kept and (name not in own or node in wanted)
        ]
        if size <= len(open_to_it):
            nodes = tuple(open_to_it[:size])
            chosen.append((name, nodes))
            rest = [node for node in rest if node not in nodes]
        elif not kept:
            kept = set(wanted)
    return chosen
