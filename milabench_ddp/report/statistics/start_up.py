"""What the observations were that are left out at the beginning: an approach to the rest, or not.

A device that warms up, or a loader that fills, approaches the rest as an exponential does, by the
same factor in equal times. So the rest has the remainder of that approach: its mean is off by it
from the rate that the launch would go on with. A clock that changes, or a neighbour that works, is

from ...numerics import Counts, Floats, np
at a level of its own and then at another one: that may happen again.
"""

from ...numerics import Counts, Floats, np

COLD = 5  # fewer observations are cold steps, and have no shape
TIMES = 40  # time constants that are tried, from half an observation to half of the run


def is_level(rates: Floats, start: int) -> bool:
    """Whether the first rates are at a level of their own: a step fits better than an approach.

    Args:
        rates: all, in the order of time.
        start: how many of them are left out.
    """
    if start < COLD:
        return False
    count = np.arange(COLD, min(2 * start, len(rates) - 1) + 1)
    return float(explained_by_step(rates, count).max()) > _approach(rates, start)[0]


def explained_by_step(rates: Floats, count: Counts) -> Floats:
    """The sums of squares that two levels explain, one of which has the first ``count`` rates.

    Args:
        rates: all, in the order of time.
        count: where the second level may begin, shape (k,); at least 1, and fewer than there are.
    """
    n = len(rates)
    total = np.cumsum(rates - rates.mean())[count - 1]
    explained: Floats = total**2 * n / (count * (n - count))
    return explained


def remainder(rates: Floats, start: int) -> float:
    """By how much the mean of the rest exceeds what the first rates approach.

    Args:
        rates: all, in the order of time.
        start: how many of them are left out.
    """
    return _approach(rates, start)[1] if start >= COLD else 0.0


def _approach(rates: Floats, start: int) -> tuple[float, float]:
    place, above = np.arange(len(rates)), rates - rates.mean()
    found = []
    for time in np.geomspace(0.5, len(rates) / 2, TIMES):
        shape = np.exp(-place / time)
        off = shape - shape.mean()
        products = float(off @ above)
        size = products / float(off @ off)
        found.append((size * products, size * float(shape[start:].mean())))
    return max(found)
