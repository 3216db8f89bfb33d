"""The noise of series of runs, as far as one series or many that are alike show it.

Tests at very small levels are far in the tails, so noise must not be taken for less than it is:

* The variance of a series is moderated by that of its family (G. K. Smyth, "Linear models and
  empirical Bayes methods for assessing differential expression in microarray experiments", Stat.
  Appl. Genet. Mol. Biol. 3, 2004), and is never less than its own.
* Where runs are like their neighbours, a mean is worth fewer of them, by the correlation of the
  family.
* A lone run that is far from its neighbours on both sides is taken for one of them.
* Tails may be heavier than those of a normal distribution: the share of all runs of the family that
  are so far from their neighbours is counted.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

from ..statistics.values import COARSE, FAR, MAD_TO_STD
from .splits import energies, without_line, without_step

if TYPE_CHECKING:
    from ..statistics.values import Floats

FEWEST = 6  # runs; of fewer, nothing is told
NEAR = 2  # neighbours of a run on each side
FITTED = 3  # parameters: two levels, and the place between them
ROUNDING = 1e-6  # of logarithms: rates are written with some seven digits
UNSURE = 10.0  # runs: with as many, a run must be twice as far off to be taken for another
BIAS = 4.0  # runs by which the estimate of a correlation is too small, over all runs
MOST_CORRELATION = 0.95
FEWEST_VARIANCES = 4  # of which it is known how they differ


class Family(Struct, frozen=True):
    """The series that are judged together, and what is known of their noise."""

    alpha: float  # the probability of a false alarm about any of them, ever
    count: int
    variance: float  # the median
    prior: float  # degrees of freedom that the variance of the family is worth for one series
    correlation: float  # of neighbouring runs
    outliers: "Floats"  # how far each run is from its neighbours, in deviations; ascending

    @property
    def inflation(self) -> float:
        """By how much the variance of a mean is larger than that of independent runs."""
        return (1 + self.correlation) / (1 - self.correlation)

    def moderated(self, squares: "Floats", freedom: "Floats") -> "tuple[Floats, Floats]":
        """The variance of the runs of a series for means of them, and its degrees of freedom.

        Args:
            squares: the sum of the squares that no fit explains.
            freedom: the degrees of freedom of this sum.
        """
        from ...numerics import np

        own = np.maximum(squares / freedom, ROUNDING**2)
        worth = freedom / self.inflation
        whole = (self.prior * self.variance + worth * own) / (self.prior + worth)
        return np.maximum(whole, own) * self.inflation, self.prior + worth

    def share_beyond(self, deviations: "Floats") -> "Floats":
        """The share of runs that are so many deviations off, with one more than were seen."""
        from ...numerics import np

        count = len(self.outliers)
        found: Floats = (1 + count - np.searchsorted(self.outliers, deviations)) / (1.0 + count)
        return found


def family_of(all_values: Sequence["Floats"], alpha: float) -> Family:
    """What series of logarithms of rates have in common.

    Args:
        all_values: in the order of time; those with fewer than ``FEWEST`` runs do not count.
        alpha: the probability of a false alarm about any of them.
    """
    from ...numerics import np

    long = [values for values in all_values if len(values) >= FEWEST]
    if not long:
        return Family(alpha, 1, ROUNDING**2, 0.0, 0.0, np.array([]))
    calm = [without_lone_runs(values) for values in long]
    rests = [_best_fit_rest(values) for values in calm]
    variances = [_variance(rest) for rest in rests]
    return Family(
        alpha,
        len(long),
        median(variances),
        _prior(variances, median(map(len, calm)) - FITTED - 1),
        min(max(_correlation(calm, rests), 0.0), MOST_CORRELATION),
        np.sort(np.concatenate([_outliers(values) for values in long])),
    )


def _around(values: "Floats") -> "Floats":
    """The median of each run and its neighbours."""
    from ...numerics import np

    wide = np.pad(values, NEAR, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(wide, 2 * NEAR + 1)
    middle: Floats = np.median(windows, axis=1)
    return middle


def _deviation(values: "Floats") -> float:
    """The standard deviation by the differences of neighbours, whose median no few changes move."""
    from ...numerics import np

    return MAD_TO_STD * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2)


def without_lone_runs(values: "Floats") -> "Floats":
    """The values, with the median of its neighbours for each that is far from it."""
    from ...numerics import np

    if len(values) < FEWEST:
        return values
    around = _around(values)
    # the deviation of few runs is itself not sure
    far = FAR * (1 + UNSURE / len(values)) * max(_deviation(values), COARSE)
    return np.where(np.abs(values - around) > far, around, values)


def _outliers(values: "Floats") -> "Floats":
    """How far each run is from its neighbours, in standard deviations."""
    from ...numerics import np

    found: Floats = np.abs(values - _around(values)) / max(_deviation(values), ROUNDING)
    return found


def _variance(rest: "Floats") -> float:
    """The variance of a series from what a fit leaves of it."""
    return max(float(rest @ rest) / max(len(rest) - FITTED - 1, 1), ROUNDING**2)


def _best_fit_rest(values: "Floats") -> "Floats":
    """What is left of a series without the step or the line that fits it better."""
    step = without_step(values, int(energies(values)[:, len(values)].argmax()))
    return min(step, without_line(values), key=lambda rest: float(rest @ rest))


def _correlation(all_values: Sequence["Floats"], rests: Sequence["Floats"]) -> float:
    """The correlation of neighbouring runs in a family, by the lower of two estimates.

    One is that of what a fit leaves, the median over series: too large if there are several
    changes. The other is less sure, but no few changes move it: the variance of differences over h
    runs grows as 1 - rho^h.
    """
    from ...numerics import np

    of_rest = median(map(_correlation_of_rest, rests))
    next, after_next = [], []
    for values in all_values:
        deviation = max(_deviation(values), ROUNDING)
        next.append(np.abs(values[1:] - values[:-1]) / deviation)
        after_next.append(np.abs(values[2:] - values[:-2]) / deviation)
    medians = [float(np.median(np.concatenate(each))) for each in (next, after_next)]
    if not medians[0]:
        return of_rest
    return min(of_rest, (medians[1] / medians[0]) ** 2 - 1)


def _correlation_of_rest(rest: "Floats") -> float:
    """The correlation of neighbours in what a fit leaves, without its bias.

    It is as in ``batch_means``, for the two levels or the line, and the place of the step.
    """
    count, squares = len(rest), float(rest @ rest)
    if squares <= count * ROUNDING**2:
        return 0.0
    seen = float(rest[1:] @ rest[:-1]) / squares
    return (count * seen + BIAS) / max(count - BIAS - 2, 1)


def _prior(variances: Sequence[float], worth: float) -> float:
    """How many degrees of freedom the variance of a family is worth for one of its series.

    Samples of the same variance differ by chance alone: their logarithms by 2/d + 2/d^2, of d
    degrees of freedom. What is more tells how the variances differ.
    """
    if len(variances) < FEWEST_VARIANCES:
        return 0.0
    logs = [math.log(variance) for variance in variances]
    middle = median(logs)
    seen = (MAD_TO_STD * median(abs(each - middle) for each in logs)) ** 2
    chance = 2 / worth + 2 / worth**2
    return 2 / max(seen - chance, chance / len(variances))
