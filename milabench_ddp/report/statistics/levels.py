"""Rates that stay at one of two levels for long: a clock that changes, a neighbour that works.

The mean rate over a run is then that of as many visits to a level as there are, however many
observations each of them has. A run that sees a level once or twice does not tell how much of the
time it takes, and its observations do not show that either: most of them are alike.

A level that a run never shows cannot be known of, and one that it shows for less than 1 % of its
observations, or for one or two in a row, cannot be told from a pause.
"""

import math
from collections.abc import Iterator

from ...numerics import Floats, Marks, np
from .start_up import COLD
from .values import is_far, sliding_medians

WINDOWS = 30  # sliding medians reach over this part of a series on each side
SHARED = 8  # of them in half of such a window
APART = 0.85  # the share of the squared deviations that two levels explain; of normal noise 0.64
MATTERS = 0.005  # the smallest distance of two levels, as a fraction
STAYS = 3  # observations in a row: a pause is shorter,
STAYS_SHARE = 0.01  # and the least share of a series
FOLLOWS = 2.0  # standard deviations of the autocorrelation of independent values
FEW = 6  # visits; from so many on, the interval holds as often as it says


def visits_if_few(rates: Floats, start: int) -> int:
    """The number of visits if there are too few to know the mean rate; else 0.

    Args:
        rates: all, in the order of time.
        start: how many of them are left out as a start-up, which may contain visits.
    """
    rest = rates[start:]
    calm = _calm(rest)
    found = [_visits(_is_high(calm))]
    for marks in (*_is_away(calm), *_is_away(rest)):
        visits = _visits(marks)
        # marked at the beginning alone is what is left of the start-up
        if not (start and marks[0] and visits == 2):
            found.append(visits)
    if start >= COLD:
        of_all = _visits(_is_high(_calm(rates)))
        # one change alone is that from the start-up to the steady state
        if of_all > 2:
            found.append(of_all)
    few = min((count for count in found if 1 < count < FEW), default=0)
    return few if few and _follow(rates if start >= COLD else rest) else 0


def _follow(rates: Floats) -> bool:
    """Whether rates are like those before them: by their autocorrelation, or that of their ranks.

    Of steps that are long and short at random, as those of batches of several lengths, the medians
    of some windows are high and of some low, too. Ranks hold where one rate is far from all others.
    """
    for values in (rates, rates.argsort().argsort().astype(float)):
        off = values - values.mean()
        if float(off[1:] @ off[:-1]) > FOLLOWS * float(off @ off) / math.sqrt(len(off)):
            return True
    return False


def _visits(marks: Marks) -> int:
    return 1 + int((marks[1:] != marks[:-1]).sum())


def _calm(rates: Floats) -> Floats:
    near = len(rates) // WINDOWS
    return sliding_medians(rates, near, max(1, near // SHARED))


def _is_high(calm: Floats) -> Marks:
    """Which are above the middle, if what is above and what is below are two levels; else none.

    Steps of few ticks of a clock are too long and too short by turns, which is no level: medians
    of them do not stay.
    """
    is_high: Marks = calm > (calm.max() + calm.min()) / 2
    high, low = calm[is_high], calm[~is_high]
    if min(_longest(is_high), _longest(~is_high)) < STAYS:
        return is_high & False
    if high.mean() - low.mean() < MATTERS * abs(calm.mean()):
        return is_high & False
    left = high.var() * len(high) + low.var() * len(low)
    return is_high & (1 - float(left) / float(calm.var() * len(calm)) >= APART)


def _is_away(rates: Floats) -> Iterator[Marks]:
    level = float(np.median(rates))
    far = is_far(rates - level, level)
    stays = max(STAYS, STAYS_SHARE * len(rates))
    for marks in (far & (rates > level), far & (rates < level)):
        if _longest(marks) >= stays:
            yield marks


def _longest(marks: Marks) -> int:
    edges = np.flatnonzero(np.diff(marks, prepend=False, append=False))
    return int((edges[1::2] - edges[::2]).max(initial=0))
