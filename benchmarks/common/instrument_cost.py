"""What the marks cost, from blocks of steps with and without them, in turn.

Neighbouring blocks are a pair, whose order changes from pair to pair, so that a drift cancels out.
The block with marks takes a share more than the other. The cost is the Hodges-Lehmann estimate of
these shares, the median of the means of any two, with the interval of Wilcoxon's signed-rank test
(M. Hollander, D. A. Wolfe, E. Chicken, "Nonparametric Statistical Methods", 3rd edition, 2014,
section 3.2), so a few steps that the machine disturbs do not move it.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from statistics import median
from typing import NamedTuple

FEWEST_PAIRS, MOST_PAIRS = 8, 40
NORMAL = 1.96  # the quantile 0.975 of the normal distribution


class Cost(NamedTuple):
    """A share of a step, and half of its 95 % interval."""

    share: float
    error: float


def blocks(steps: int) -> tuple[int, list[bool]]:
    """How many steps a block has, and whether each has marks; no block if there are too few steps.

    Each pair of blocks has both, in either order.
    """
    length = max(math.ceil(steps / (2 * MOST_PAIRS)), 1)
    pairs = steps // (2 * length)
    if pairs < FEWEST_PAIRS:
        return length, []
    return length, [(block % 2 == 0) == (block // 2 % 2 == 0) for block in range(2 * pairs)]


def cost(marked: Sequence[bool], ms: Sequence[float]) -> Cost | None:
    """What the marks cost, by the times of all blocks; None where there are none."""
    shares = list(_shares(marked, ms))
    if not shares:
        return None
    means = sorted((one + other) / 2 for one, other in combinations_with_replacement(shares, 2))
    count = len(shares)
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    first = max(round(count * (count + 1) / 4 - NORMAL * spread), 0)
    return Cost(median(means), (means[-1 - first] - means[first]) / 2)


def _shares(marked: Sequence[bool], ms: Sequence[float]) -> Iterator[float]:
    for first in range(0, len(ms), 2):
        with_marks, without = ms[first], ms[first + 1]
        if not marked[first]:
            with_marks, without = without, with_marks
        yield with_marks / max(without, 1e-9) - 1
