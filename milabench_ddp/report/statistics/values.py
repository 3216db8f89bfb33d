"""Statistics of values, some of which may be unknown; without a known value the result is NaN."""

import math
import statistics
from array import array
from collections.abc import Iterable, Sequence

from ...numerics import Counts, Floats, Marks, np
from ...results.records import is_finite

NAN = math.nan
MAD_TO_STD = 1.4826  # of a normal distribution
FAR = 5.0  # robust standard deviations
COARSE = 1e-3  # of the level: clocks are coarse, so closer values are equal
TOGETHER = 2**18  # values of sliding windows


def known(values: Iterable[object]) -> list[float]:
    """The finite numbers among the values; all others are unknown."""
    return [float(value) for value in values if is_finite(value)]


def total(numbers: Floats) -> float:
    """The sum of finite numbers, rounded once."""
    return math.fsum(numbers.data)  # without a list of them


def mean(values: Iterable[object]) -> float:
    numbers = known(values)
    return statistics.fmean(numbers) if numbers else NAN


def median(values: Iterable[object]) -> float:
    numbers = known(values)
    return statistics.median(numbers) if numbers else NAN


def deviation(values: Iterable[object]) -> float:
    """The standard deviation of the n known values, with the divisor n; NaN for fewer than two."""
    if not isinstance(values, array):
        numbers = known(values)
        return statistics.pstdev(numbers) if len(numbers) > 1 else NAN
    rates = np.asarray(values)  # millions of them, all known
    if len(rates) < 2:
        return NAN
    return math.sqrt(total((rates - total(rates) / len(rates)) ** 2) / len(rates))


def robust_std(values: Iterable[float], middle: float) -> float:
    """The standard deviation of normal values by the median of their distances from the middle."""
    return MAD_TO_STD * median(abs(value - middle) for value in values)


def neighbours_std(values: Floats) -> float:
    """As ``robust_std``, by how far neighbours are apart: whatever their level does meanwhile."""
    return MAD_TO_STD * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2)


def is_far(deviations: Floats, level: float) -> Marks:
    """Which of these deviations from about ``level`` are more than chance makes them.

    That is more than ``FAR`` robust standard deviations (1.4826 times the median absolute one).
    """
    distances = np.abs(deviations)
    spread = max(MAD_TO_STD * float(np.median(distances)), COARSE * abs(level))
    return distances > FAR * spread


def sliding_medians(values: Floats, near: int, apart: int = 1) -> Floats:
    """The median of each value and its neighbours, of which the ends have mirrored ones.

    Args:
        values: shape (n,).
        near: neighbours on each side, fewer than n.
        apart: a median is made for every so many values.
    """
    around = np.pad(values, near, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * near + 1)[::apart]
    medians = np.empty(len(windows))
    some = max(1, TOGETHER // (2 * near + 1))
    for k in range(0, len(windows), some):  # all windows of a long series would fill the memory
        medians[k : k + some] = np.partition(windows[k : k + some], near, axis=1)[:, near]
    return medians


def largest(values: Iterable[object]) -> float:
    return max(known(values), default=NAN)


def ratio(part: float, whole: float) -> float:
    """``part / whole``; NaN or infinity if ``whole`` is 0, as in NumPy."""
    if whole:
        return part / whole
    return NAN if not part or math.isnan(part) else math.copysign(math.inf, part)


def percentile(ordered: Sequence[float] | Floats, share: float) -> float:
    """The percentile of values in ascending order, by NumPy's default linear interpolation.

    Args:
        share: from 0 to 1.
    """
    if not len(ordered):
        return NAN
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    low = float(ordered[below])
    if place == below:
        return low
    return low + (float(ordered[below + 1]) - low) * (place - below)


def extremes(values: Floats, places: Counts, count: int) -> tuple[Floats, Floats, Floats]:
    """The minimum, median and maximum of the values at each place; NaN where there is none.

    Args:
        values: shape (n,).
        places: of the values, from 0 to ``count - 1``, shape (n,).
        count: of the places.

    Returns:
        three arrays, shape (count,).
    """
    ordered = values[np.lexsort((values, places))]
    known, counts = np.unique(places, return_counts=True)
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    middle = (ordered[(first + last) // 2] + ordered[(first + last + 1) // 2]) / 2
    found = np.full((3, count), NAN)
    found[:, known] = ordered[first], middle, ordered[last]
    return found[0], found[1], found[2]
