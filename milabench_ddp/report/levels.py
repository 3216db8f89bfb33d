"""Rates that stay at one of two levels for long: a clock that changes, a neighbour that works.

The mean rate over a run is then that of as many visits to a level as there are, however many
observations each of them has. A run that sees a level once or twice does not tell how much of the
time it takes, and its observations do not show that either: most of them are alike.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .statistics import Floats

WINDOWS = 30  # a visit to a level takes more than this part of a series, what is shorter is a pause
APART = 0.85  # the share of the squared deviations that two levels explain; of normal noise 0.64
MATTERS = 0.005  # the smallest distance of two levels, as a fraction
FEW = 6  # visits; from so many on, the interval holds as often as it says
COLD = 5  # fewer observations at the beginning are cold steps, and no level
APPROACHES = 0.5  # the distance of a start-up's second half from the rest, over that of its first


def visits(rates: "Floats") -> int | None:
    """How often the rates are at one of two levels; None if there are no two levels.

    The levels are what is above and below the middle of the sliding medians.
    """
    import numpy as np

    near = len(rates) // WINDOWS
    around = np.pad(rates, near, mode="reflect")
    calm = np.median(np.lib.stride_tricks.sliding_window_view(around, 2 * near + 1), axis=1)
    is_high = calm > (calm.max() + calm.min()) / 2
    if is_high.all() or not is_high.any():
        return None
    high, low = calm[is_high], calm[~is_high]
    left = high.var() * len(high) + low.var() * len(low)
    explained = 1 - float(left) / float(calm.var() * len(calm))
    if explained < APART or high.mean() - low.mean() < MATTERS * abs(calm.mean()):
        return None
    return 1 + int((is_high[1:] != is_high[:-1]).sum())


def visits_if_few(rates: "Floats", start: int) -> int:
    """The number of visits if there are too few to know the mean rate; else 0.

    Args:
        rates: all, in the order of time.
        start: how many of them are left out as a start-up, which may contain visits.
    """
    found = [visits(rates[start:])]
    if start >= COLD:
        found.append(visits(rates))
        # one change alone is that from the start-up to the steady state
        if found[-1] == 2:
            del found[-1]
    few = [count for count in found if count and count < FEW]
    return min(few, default=0)


def is_level(first: "Floats", rest: "Floats") -> bool:
    """Whether the first rates keep their distance from the mean of the rest, unlike a start-up."""
    if len(first) < COLD:
        return False
    half, level = len(first) // 2, rest.mean()
    before, after = float(first[:half].mean() - level), float(first[half:].mean() - level)
    return bool(before) and after / before > APPROACHES
