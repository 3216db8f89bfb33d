"""Long series in few points: the least, the median and the most of each bucket."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..statistics.values import Floats

MOST = 256


class Bucket(NamedTuple):
    """Neighbours in a series, from the place ``first`` to ``last``, both included, from 0."""

    first: int
    last: int
    least: float
    median: float
    most: float


def buckets(values: "Sequence[float] | Floats", most: int = MOST) -> list[Bucket]:
    """A series in at most so many buckets of equally many values; the last may have fewer."""
    from ...numerics import np

    series = np.asarray(values, dtype=np.float64)
    if not len(series):
        return []
    size = -(-len(series) // most)
    whole = len(series) - len(series) % size
    found: list[Bucket] = []
    for part in (series[:whole].reshape(-1, size), series[None, whole:]):
        if part.size:
            columns = part.min(axis=1), np.median(part, axis=1), part.max(axis=1)
            for low, middle, high in zip(*(column.tolist() for column in columns), strict=True):
                first = len(found) * size
                last = min(first + size, len(series)) - 1
                found.append(Bucket(first, last, low, middle, high))
    return found
