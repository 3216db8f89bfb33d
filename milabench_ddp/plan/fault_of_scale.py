"""The number of nodes from which on all sets of them fail, whichever they are."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, combinations_with_replacement
from math import comb, prod

from .probes import FLAKY, TRUE, Probe, Rounds

_SURE = 0.999
# How likely it is, beside a number, that a few nodes fail together: a pair that a wrong probe hid,
# or three nodes.
_FEW = {2: 0.02, 3: 0.001}


def fewest_that_fail(nodes: Sequence[str], most: int) -> Rounds[int | None]:
    """Find the number by halves of what is likely; None if that does not explain it.

    A set of each size leaves out the nodes after those that the last one of this size left out, so
    that few sets tell numbers from a few nodes that fail together.

    Args:
        nodes: all that can be probed.
        most: so many of them failed, and no half of these did.
    """
    numbers = range((most + 1) // 2 + 1, most + 1)
    likely = dict.fromkeys(numbers, 1.0) | {most + 1: FLAKY}  # the one that failed was wrong
    few = _FEW if len(nodes) > 3 else {}
    told: list[tuple[Probe, bool]] = []
    while True:
        best = max(likely, key=likely.__getitem__)
        total = sum(likely.values())
        other = len(numbers) * sum(
            prior * _share_of_sets(count, nodes, told) for count, prior in few.items()
        )
        if best <= most and likely[best] > _SURE * (total + other):
            return best
        # one wrong outcome is likelier than a few nodes
        if total < max(other / 20, FLAKY**2) or likely[most + 1] > _SURE * total:
            return None
        asked = Counter(len(probe) for probe, _ in told)
        asked[len(nodes)] *= 2  # tells nothing of a few nodes
        below = [*accumulate(likely.values())]
        uneven = [round(abs(one / total - 0.5), 1) for one in below]
        # the most even one; of those, one beside the most likely number
        size = min(numbers, key=lambda k: (uneven[k - numbers[0]], abs(k + 0.5 - best), asked[k]))
        turns, first = divmod(asked[size] * (len(nodes) - size), len(nodes))
        left_out = {nodes[(first + turns + k) % len(nodes)] for k in range(len(nodes) - size)}
        probe = frozenset(nodes) - left_out
        (is_bad,) = yield [probe]
        told.append((probe, is_bad))
        for number in likely:
            likely[number] *= TRUE if is_bad == (number <= size) else FLAKY


def _share_of_sets(count: int, nodes: Sequence[str], told: Sequence[tuple[Probe, bool]]) -> float:
    """The share of all sets of ``count`` nodes that explain what was told by failing together."""
    good = [probe for probe, is_bad in told if not is_bad]
    bad = [probe for probe, is_bad in told if is_bad]
    inside = [node for node in nodes if all(node in probe for probe in bad)]
    alike = Counter(tuple(node in probe for probe in good) for node in inside)
    sets = sum(
        prod(comb(alike[kind], many) for kind, many in Counter(kinds).items())
        for kinds in combinations_with_replacement(alike, count)
        if not any(map(all, zip(*kinds, strict=True)))
    )
    return sets / comb(len(nodes), count)
