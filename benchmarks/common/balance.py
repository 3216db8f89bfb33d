"""Cutting a row of things into runs that are as even as can be."""

from collections.abc import Sequence


def balanced(sizes: Sequence[int], count: int) -> list[int]:
    """Where to cut ``sizes`` into ``count`` runs of at least one, so that the largest is least.

    The bounds of the runs, 0 and the number of sizes among them. ``count`` is at most that number.
    """
    low, high = max(sizes), sum(sizes)
    while low < high:  # halving: whether runs of at most ``middle`` suffice
        middle = (low + high) // 2
        if len(_filled(sizes, middle)) - 1 <= count:
            high = middle
        else:
            low = middle + 1
    cuts = _filled(sizes, low)
    for end in range(len(sizes) - 1, 0, -1):  # fewer runs than wanted: cut off single ones
        if len(cuts) - 1 == count:
            break
        if end not in cuts:
            cuts = sorted([*cuts, end])
    return cuts


def _filled(sizes: Sequence[int], most: int) -> list[int]:
    """Cuts of the runs that are filled one after the other to at most ``most``."""
    cuts, held = [0], 0
    for k, size in enumerate(sizes):
        if held + size > most:
            cuts.append(k)
            held = 0
        held += size
    return [*cuts, len(sizes)]
