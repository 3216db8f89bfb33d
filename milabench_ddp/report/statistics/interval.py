"""The 95 % confidence interval of a mean rate: within one launch, or over several launches.

**Of one launch** it holds the mean rate that this launch would show if it went on. It is made of
the standard errors of its processes, which heed that neighbouring steps are alike (see
``batch_means``), as independent errors: the devices of a launch are not drawn, they are all there
are. It does not hold the rate of another launch, which differs by more: memory is laid out anew,
other clocks and neighbours.

**Of several launches** it holds the mean rate of all launches, so it is the one to compare by.
Launches are independent, so it is Student's t over their means: of two launches it is wide. Each
launch counts by its processes (the mean is a ratio: W. G. Cochran, "Sampling Techniques", 1977,
section 6.3).

The interval reaches to the level at the end of each process, if rates still move there, and to the
rate that its start-up approaches (see ``steady``). Of launches that were made until it was narrow
(see ``stopping``), it is never narrower than was asked.

**A mean that tells nothing is no number.** It tells nothing if the rates of a process have no level
(see ``steady``), and if two standard errors of it, or the reach of the interval, are as large as
itself: what was measured may be anything from nothing to the double. Two standard errors stand for
the interval, because by Student's t that of two launches is 13 of them, also where both are alike.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import mul

from msgspec import Struct

from ...numerics import np
from ...table import given_percent_text
from . import steady
from .batch_means import MeanError, mean_error, t_quantile
from .steady import Steady, rate_text
from .values import mean, percentile

ROUNDING = 1e-12  # of the mean: what is smaller is not of the rates, but of sums of them
WITHIN = "the mean rate within this launch"
FEWEST = 60  # of a process: what happens in one of 20 steps is hardly missed by as many
SURE = 2.0  # standard errors that a mean must exceed
NO_LEVEL, TOO_UNSURE = "no steady state", "too unsure"


class Series(Struct, frozen=True, dict=True):
    """The steady observations of a process."""

    rates: Sequence[float]
    seconds: Sequence[float]  # the weight of each observation: its duration, or 1
    found: Steady = Steady()  # where they begin, and whether they still move

    @cached_property
    def mean(self) -> float:
        """Units per second over the whole series: total units over total time."""
        units = map(mul, self.rates, self.seconds)
        return math.fsum(units) / math.fsum(self.seconds)

    @property
    def measured(self) -> int:
        return self.found.start + len(self.rates)

    @cached_property
    def error(self) -> MeanError:
        weights = np.array(self.seconds)
        return mean_error((np.array(self.rates) - self.mean) * weights / weights.mean())

    @cached_property
    def why_no_mean(self) -> str:
        """Why its mean tells nothing: empty if it does, or if too few rates show anything."""
        if not self.found.has_level:
            return f"{NO_LEVEL}: {self.found.problem}"
        if self.measured < steady.FEWEST or not self.mean > 0:
            return ""
        far = max(SURE * self.error.sem / self.mean, self.found.below, self.found.above)
        if far < 1:
            return ""
        low, high = (rate_text(percentile(sorted(self.rates), share)) for share in (0.05, 0.95))
        return f"{TOO_UNSURE}: 9 of 10 of its rates are between {low} and {high}"


Launches = Sequence[Sequence[Series]]  # the series of the processes of each launch


class Interval(Struct, frozen=True):
    """The standard error of a mean and its 95 % confidence interval, all in units of the mean."""

    sem: float
    low: float
    high: float
    launches: int = 1
    until: float = 0.0  # the half width that ended the launches, as a fraction of the mean

    @property
    def holds(self) -> str:
        if self.launches == 1:
            return WITHIN
        made = f", made until it was ±{given_percent_text(self.until)}" if self.until else ""
        return f"the mean rate over {self.launches} launches{made}"


def why_no_mean(launches: Launches) -> str:
    """Why ``pooled_mean(launches)`` tells nothing, in one of them or over all; empty if it does."""
    for series in chain.from_iterable(launches):
        if series.why_no_mean:
            return series.why_no_mean
    if len(launches) < 2 or SURE * over_launches(launches).sem <= pooled_mean(launches):
        return ""
    means = [pooled_mean([launch]) for launch in launches]
    return f"{TOO_UNSURE}: its launches reach {rate_text(min(means))} to {rate_text(max(means))}"


def pooled_mean(launches: Launches) -> float:
    """The mean over processes of their mean rates; NaN without any."""
    return mean(series.mean for launch in launches for series in launch)


def interval(launches: Launches, until: float = 0.0) -> Interval | None:
    """The interval of ``pooled_mean(launches)``; None for one launch that measured too little.

    Each process of a single launch needs ``FEWEST`` observations: fewer say nothing of what happens
    now and then, and too little of how alike neighbours are. Several launches need only one each.

    Args:
        launches: the series of the processes of each launch.
        until: the half width at which no more launches were made, as a fraction of the mean.
    """
    if len(launches) > 1:
        error = over_launches(launches)
    elif launches and all(series.measured >= FEWEST for series in launches[0]):
        error = _within_launch(launches[0])
    else:
        return None
    middle = pooled_mean(launches)
    if error.sem <= ROUNDING * abs(middle):
        error = MeanError(0.0, error.freedom)
    below, above = reach(launches)
    half_width = max(error.half_width, until * middle)
    below, above = max(half_width, below), max(half_width, above)
    # beside an interval that reaches beyond the noise, the error of the noise alone would mislead
    sem = max(error.sem, max(below, above) / t_quantile(error.freedom))
    return Interval(sem, middle - below, middle + above, len(launches), until)


def reach(launches: Launches) -> tuple[float, float]:
    """How far below and above the mean the interval reaches at least, in units of the mean."""
    below = mean(series.mean * series.found.below for launch in launches for series in launch)
    above = mean(series.mean * series.found.above for launch in launches for series in launch)
    return below, above


def launch_deviations(launches: Launches) -> list[float]:
    """How far the mean of each launch is from ``pooled_mean``, in its units.

    A launch counts by its processes.
    """
    middle = pooled_mean(launches)
    usual = sum(map(len, launches)) / len(launches)  # processes of a launch
    return [math.fsum(series.mean - middle for series in each) / usual for each in launches]


def over_launches(launches: Launches) -> MeanError:
    """The error of ``pooled_mean(launches)``, of two launches or more, from launch to launch."""
    count = len(launches)
    variance = math.fsum(off**2 for off in launch_deviations(launches)) / (count - 1)
    return MeanError(math.sqrt(variance / count), count - 1)


def _within_launch(launch: Sequence[Series]) -> MeanError:
    errors = [series.error for series in launch]
    variances = [error.sem**2 for error in errors]
    total = math.fsum(variances)
    if not total:
        return errors[0]
    # B. L. Welch, "The generalization of Student's problem", Biometrika 34, 1947
    shares = [(error.sem**2 / total) ** 2 / error.freedom for error in errors]
    return MeanError(math.sqrt(total) / len(launch), 1 / math.fsum(shares))
