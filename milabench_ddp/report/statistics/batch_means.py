"""The standard error of the mean of values that depend on each other, by batch means.

Neighbouring steps are alike (a clock that drops, a neighbour on the node), so std/sqrt(n) is too
small. So the values are averaged in about 20 batches, and the correlation that is left between
neighbouring batches, phi, corrects the variance of their mean by (1 + phi)/(1 - phi). That many
batches are worth ``k (1 - phi)/(1 + phi)`` independent ones, less one the degrees of freedom of
Student's t (A. Tafazzoli, N. M. Steiger, J. R. Wilson, "N-Skart: a nonsequential skewness- and
autoregression-adjusted batch-means procedure for simulation analysis", IEEE Transactions on
Automatic Control 56(2), 2011; F. W. Zwiers, H. von Storch, "Taking serial correlation into account
in tests of the mean", Journal of Climate 8, 1995).

An estimate of phi from k values is too small by about (1 + 3 phi)/k (M. G. Kendall, "Note on bias
in the estimation of autocorrelation", Biometrika 41, 1954), and is uncertain: its standard error is
added. ``tests/studies/planted_series.py`` shows how often the intervals then hold the true mean.
"""

import math

from msgspec import Struct

from ...numerics import Floats, np
from .student import quantile

BATCHES = 20  # at least, but never more than there are values
CAUTION = 1.0  # standard errors of the correlation
LEAST_WORTH = 3.0  # independent batches; worth less, the deviation could not be estimated at all
LEAST_CORRELATION = -0.8  # of batches that alternate, as pauses at equal distances make them


class MeanError(Struct, frozen=True):
    """The standard error of a mean, and the degrees of freedom of its estimate."""

    sem: float
    freedom: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % confidence interval."""
        return t_quantile(self.freedom) * self.sem


def mean_error(values: Floats, parameters: int = 1) -> MeanError:
    """The standard error of the mean of two or more values.

    Args:
        values: in the order of time.
        parameters: how many were fitted to the values, with the mean: they are smaller for it.
    """
    length = max(1, len(values) // BATCHES)
    count = len(values) // length
    # the first values make up the remainder: the last ones are farther from the start-up
    batches = values[len(values) - count * length :].reshape(count, length).mean(axis=1)
    deviation = float(batches.std(ddof=min(parameters, count - 1)))
    correlation = _correlation(batches, parameters)
    worth = count * (1 - correlation) / (1 + correlation)
    worth = max(worth, min(LEAST_WORTH, count))
    # batches whose length is a multiple of the distance of pauses look alike, but at either end of
    # the series a pause more or less is in it: uniform over the range of a value
    edge = float(np.ptp(values)) * math.sqrt(2 / 12) / len(values)
    return MeanError(max(deviation / math.sqrt(worth), edge), min(worth, count) - 1)


def t_quantile(freedom: float) -> float:
    """The quantile 0.975 of Student's t; of less than one degree of freedom, that of one."""
    return quantile(0.025, max(freedom, 1.0))


def _correlation(batches: Floats, parameters: int) -> float:
    count = len(batches)
    centred = batches - batches.mean()
    squares = float(centred @ centred)
    if count < parameters + 3 or squares <= (1e-12 * float(abs(batches).max())) ** 2:
        return 0.0
    seen = float(centred[1:] @ centred[:-1]) / squares
    unbiased = (count * seen + parameters) / (count - parameters - 2)
    error = math.sqrt(max(1 - unbiased**2, 0.0) / count)
    return min(max(unbiased + CAUTION * error, LEAST_CORRELATION), 1.0)
