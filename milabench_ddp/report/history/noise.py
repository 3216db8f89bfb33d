"""The splits of a series of runs, and its noise, as far as it or many that are alike show it.

Tests at very small levels are far in the tails, so noise must not be taken for less than it is:

* The variance of a series is moderated by that of its family (G. K. Smyth, "Linear models and
  empirical Bayes methods for assessing differential expression in microarray experiments", Stat.
  Appl. Genet. Mol. Biol. 3, 2004), and is never less than its own.
* Where runs are like their neighbours, a mean is worth fewer of them, by the correlation that a
  series shows around its best fit, or that of the family, the median, if it is higher.
* A lone run that is far from its neighbours on both sides is taken for one of them.
* Tails may be heavier than those of a normal distribution: the share of all runs of the family that
  are so far from their neighbours is counted.
"""

import math
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from ...numerics import Floats, np
from ..statistics.values import COARSE, FAR, neighbours_std, robust_std, sliding_medians

FEWEST = 6  # runs; of fewer, nothing is told
NEAR = 2  # neighbours of a run on each side
LEVELS = 2  # parameters of a step or a line,
FITTED = 3  # and with its place
ROUNDING = 1e-6  # of logarithms: rates are written with some seven digits
UNSURE = 10.0  # runs: with as many, a run must be twice as far off to be taken for another
# parameters that the place of a step is worth, where one series alone tells its correlation, which
# is not sure then (Y. Ninomiya, "Information criterion for Gaussian change-point model", Statistics
# & Probability Letters 72, 2005); the median of several is right with one
PLACE = 3
MOST_CORRELATION = 0.95
FEWEST_VARIANCES = 4  # of which it is known how they differ
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
    return np.concatenate([values[:at] - values[:at].mean(), values[at:] - values[at:].mean()])


def without_line(values: Floats) -> Floats:
    place = places(len(values))
    rest: Floats = values - values.mean() - place * (place @ values) / (place @ place)
    return rest


def places(count: int) -> Floats:
    """The places of so many values in a row, with a mean of 0."""
    return np.arange(float(count)) - (count - 1) / 2


class Family(Struct, frozen=True):
    """The series that are judged together, and what is known of their noise."""

    alpha: float  # the probability of a false alarm about any of them, ever
    count: int
    variance: float  # the median
    prior: float  # degrees of freedom that the variance of the family is worth for one series
    correlation: float | None  # of neighbouring runs; None: too few series tell it
    outliers: Floats  # how far each run is from its neighbours, in deviations; ascending

    def moderated(
        self, rests: Floats, counts: Floats, fitted: int = LEVELS
    ) -> tuple[Floats, Floats, Floats]:
        """The noise of the runs of a series, by what fits to its first ones leave of them.

        Args:
            rests: shape (fits, runs); 0 after the first ``counts`` of each.
            counts: shape (fits,); the runs of each fit.
            fitted: the parameters of a fit.

        Returns:
            the variance of a run; by how much that of a mean is larger than if runs were
            independent; and the degrees of freedom of this variance. Shape (fits,) each.
        """
        freedom = np.maximum(counts - fitted, 1.0)
        own = np.maximum((rests**2).sum(axis=1) / freedom, ROUNDING**2)
        bias = FITTED if self.correlation is not None else fitted + PLACE
        correlation = np.maximum(_correlations(rests, counts, bias), self.correlation or 0.0)
        inflation = (1 + correlation) / (1 - correlation)
        worth = freedom / inflation
        whole = (self.prior * self.variance + worth * own) / (self.prior + worth)
        return np.maximum(whole, own), inflation, self.prior + worth

    def share_beyond(self, deviations: Floats) -> Floats:
        """The share of runs that are so many deviations off, with one more than were seen."""
        count = len(self.outliers)
        return (1 + count - np.searchsorted(self.outliers, deviations)) / (1.0 + count)


def family_of(all_values: Sequence[Floats], alpha: float) -> Family:
    """What series of logarithms of rates have in common.

    Args:
        all_values: in the order of time; those with fewer than ``FEWEST`` runs do not count.
        alpha: the probability of a false alarm about any of them.
    """
    long = [values for values in all_values if len(values) >= FEWEST]
    if not long:
        return Family(alpha, 1, ROUNDING**2, 0.0, 0.0, np.array([]))
    calm = [without_lone_runs(values) for values in long]
    rests = [_best_fit_rest(values) for values in calm]
    variances = [_variance(rest) for rest in rests]
    correlation = None
    if len(rests) >= FEWEST_VARIANCES:
        alone = [_correlations(rest[None], np.array([len(rest)]), FITTED)[0] for rest in rests]
        correlation = float(np.median(alone))
    return Family(
        alpha,
        len(long),
        median(variances),
        _prior(variances, median(map(len, calm)) - FITTED - 1),
        correlation,
        np.sort(np.concatenate([_outliers(values) for values in long])),
    )


def without_lone_runs(values: Floats) -> Floats:
    """The values, with the median of its neighbours for each that is far from it."""
    if len(values) < FEWEST:
        return values
    around = sliding_medians(values, NEAR)
    # the deviation of few runs is itself not sure
    far = FAR * (1 + UNSURE / len(values)) * max(neighbours_std(values), COARSE)
    return np.where(np.abs(values - around) > far, around, values)


def _outliers(values: Floats) -> Floats:
    return np.abs(values - sliding_medians(values, NEAR)) / max(neighbours_std(values), ROUNDING)


def _variance(rest: Floats) -> float:
    return max(float(rest @ rest) / max(len(rest) - FITTED - 1, 1), ROUNDING**2)


def _best_fit_rest(values: Floats) -> Floats:
    step = without_step(values, int(energies(values)[:, len(values)].argmax()))
    return min(step, without_line(values), key=lambda rest: float(rest @ rest))


def _correlations(rests: Floats, counts: Floats, bias: int) -> Floats:
    """The correlation of neighbours in what fits leave, from 0 to 1, without its bias.

    Args:
        rests: shape (fits, runs); 0 after the first ``counts`` of each.
        counts: shape (fits,); the runs of each fit.
        bias: the parameters of a fit: each makes the correlation smaller, as in ``batch_means``.
    """
    squares = (rests**2).sum(axis=1)
    least = counts * ROUNDING**2  # what is left of rounding tells nothing
    seen = (rests[:, 1:] * rests[:, :-1]).sum(axis=1) / np.maximum(squares, least)
    found = (counts * seen + bias) / np.maximum(counts - bias - 2, 1)
    return np.where(squares > least, np.clip(found, 0.0, MOST_CORRELATION), 0.0)


def _prior(variances: Sequence[float], worth: float) -> float:
    """How many degrees of freedom the variance of a family is worth for one of its series.

    Samples of the same variance differ by chance alone: their logarithms by 2/d + 2/d^2, of d
    degrees of freedom. What is more tells how the variances differ.
    """
    if len(variances) < FEWEST_VARIANCES:
        return 0.0
    logs = [math.log(variance) for variance in variances]
    seen = robust_std(logs, median(logs)) ** 2
    chance = 2 / worth + 2 / worth**2
    return 2 / max(seen - chance, chance / len(variances))
