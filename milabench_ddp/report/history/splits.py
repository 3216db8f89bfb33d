"""The splits of a series: how far apart their sides are, and what is left without a fit."""

from ...numerics import Floats, np

SIDE = 2  # values on each side of a split, at least


def energies(values: Floats) -> Floats:
    """How far apart the two sides of each split are: E-divisive's statistic Q, with exponent 1.

    Args:
        values: shape (n,).

    Returns:
        shape (n + 1, n + 1): of the first k values, split before t, at [t, k]; minus infinity where
        a side has fewer than ``SIDE``.
    """
    n = len(values)
    sums = np.zeros((n + 1, n + 1))  # over the distances of the first values from the first values
    sums[1:, 1:] = np.abs(values[:, None] - values).cumsum(axis=0).cumsum(axis=1)
    inner = sums.diagonal()
    split, end = np.arange(n + 1)[:, None], np.arange(n + 1)
    first, second = np.maximum(split, SIDE), np.maximum(end - split, SIDE)
    between = (sums - inner[:, None]) / (first * second)
    before = inner[:, None] / (first * (first - 1))
    after = (inner + inner[:, None] - 2 * sums) / (second * (second - 1))
    apart = first * second / (first + second) * (2 * between - before - after)
    return np.where((split >= SIDE) & (end - split >= SIDE), apart, -np.inf)


def without_step(values: Floats, at: int) -> Floats:
    """What is left of values without the mean of those on their side of a split."""
    return np.concatenate([values[:at] - values[:at].mean(), values[at:] - values[at:].mean()])


def without_line(values: Floats) -> Floats:
    """What is left of values without the line through them."""
    place = places(len(values))
    rest: Floats = values - values.mean() - place * (place @ values) / (place @ place)
    return rest


def places(count: int) -> Floats:
    """The places of so many values in a row, with a mean of 0."""
    return np.arange(float(count)) - (count - 1) / 2
