"""Cutting a row of things into runs that are as even as can be."""

from collections.abc import Sequence
from itertools import accumulate
from math import inf


def balanced(sizes: Sequence[int], count: int) -> list[int]:
    """Where to cut ``sizes`` into ``count`` runs of at least one, so that the largest is least.

    The bounds of the runs, 0 and the number of sizes among them. ``count`` is at most that number.
    """
    sums = [0, *accumulate(sizes)]
    # For each end: the largest run up to it at its least, and the cuts that make it so.
    best: list[tuple[float, list[int]]] = [(total, [0, end]) for end, total in enumerate(sums)]
    for runs in range(2, count + 1):
        best = [
            min(
                (
                    (max(best[cut][0], sums[end] - sums[cut]), [*best[cut][1], end])
                    for cut in range(runs - 1, end)
                ),
                default=(inf, []),
            )
            for end in range(len(sums))
        ]
    return best[-1][1]
