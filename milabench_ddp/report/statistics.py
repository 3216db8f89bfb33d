"""Statistics of values of which some may be unknown; what cannot be calculated is NaN."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..results.records import is_finite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAN = math.nan


def known(values: Iterable[object]) -> list[float]:
    """The values that can be calculated with."""
    return [float(value) for value in values if is_finite(value)]


def mean(values: Iterable[object]) -> float:
    """Their mean."""
    numbers = known(values)
    return statistics.fmean(numbers) if numbers else NAN


def median(values: Iterable[object]) -> float:
    """Their median."""
    numbers = known(values)
    return statistics.median(numbers) if numbers else NAN


def deviation(values: Iterable[object]) -> float:
    """Their standard deviation, divided by how many there are."""
    numbers = known(values)
    return statistics.pstdev(numbers) if numbers else NAN


def largest(values: Iterable[object]) -> float:
    """The greatest of them."""
    return max(known(values), default=NAN)


def ratio(part: float, whole: float) -> float:
    """``part / whole``, with NaN or infinity for a whole of 0, as NumPy has it."""
    if whole:
        return part / whole
    return NAN if not part or math.isnan(part) else math.copysign(math.inf, part)


def percentile(ordered: "Sequence[float] | Floats", share: float) -> float:
    """NumPy's default, of values in ascending order: linear between the two nearest."""
    if not len(ordered):
        return NAN
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    low = float(ordered[below])
    if place == below:
        return low
    return low + (float(ordered[below + 1]) - low) * (place - below)
