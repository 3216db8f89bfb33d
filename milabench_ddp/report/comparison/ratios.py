"""The ratio of two mean rates, after over before, with its 95 % interval.

**Launches are the unit.** What happens within a launch, be it a thousand steps, happened in one
placement, with one state of the clocks, the memory and the network; the next launch has others. So
the interval is Student's t over the means of launches, whose variance is that of both sides, and
of a history if there is one, around the mean of each (see ``launch_noise`` for what the other
benchmarks tell of it). Of several runs, each counts like a launch here. Launches that were made
until the interval was narrow tell too small a variance: the ratio's is no narrower than both were
to be.

**Of two runs that took turns**, launches are in pairs, one of each side right after the other. The
variance is that of the differences in pairs, so what drifts, and is in both, is not in it.

**Of one launch on each side**, and without a history, only their steps are left. The interval then
holds the ratio of these two launches, if they went on, and says nothing of the next two: it is that
of both mean rates (see ``statistics/interval.py``), put together by the method of variance
estimates recovery (G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures",
Statistics in Medicine 27(10), 2008), since both may be lopsided.

All is calculated with logarithms, so that swapping both sides inverts the ratio and its interval.
"""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..statistics.interval import ROUNDING, Launches, interval, launch_deviations, pooled_mean
from ..statistics.student import quantile
from .launch_noise import UNKNOWN, Variance, mean_variance, moderated

OUTSIDE = 0.025  # of a 95 % interval, on each side
FEWEST = 3  # launches on each side, unless a history tells how they differ


class Pair(Struct, frozen=True):
    """What a benchmark measured before and after."""

    before: Launches
    after: Launches
    history: Sequence[Launches] = ()  # of runs that differ in nothing that they recorded, each
    until: float = 0.0  # how narrow both intervals were to become, as a fraction
    is_paired: bool = False  # each launch was made beside that of the other side at its place

    @property
    def variance(self) -> Variance:
        if not self.is_paired:
            return _variance(self.before, self.after, *self.history)
        both = zip(_deviations(self.before), _deviations(self.after), strict=True)
        squares, freedom = [(after - before) ** 2 for before, after in both], len(self.before) - 1
        return Variance(math.fsum(squares) / freedom, freedom) if freedom else UNKNOWN

    @property
    def variances(self) -> tuple[Variance, Variance]:
        return _variance(self.before, *self.history), _variance(self.after, *self.history)


def _variance(*groups: Launches) -> Variance:
    squares, freedom = [], 0
    for launches in groups:
        squares += [off**2 for off in _deviations(launches)]
        freedom += len(launches) - 1
    return Variance(math.fsum(squares) / freedom, freedom) if freedom else UNKNOWN


def _deviations(launches: Launches) -> list[float]:
    middle = pooled_mean(launches)
    return [off / middle for off in launch_deviations(launches)]


class Ratio(Struct, frozen=True):
    """The ratio of two rates, after over before, as natural logarithms."""

    log: float
    below: float  # from there to both ends of its interval; NaN without one
    above: float
    launches: tuple[int, int] = (1, 1)  # before and after
    noise: Variance = (
        UNKNOWN  # of launches, or of pairs; unknown: the interval is within single launches
    )
    least: float = 0.0  # its standard error is no less, since its launches ended at such a one
    has_history: bool = False
    is_paired: bool = False

    @property
    def value(self) -> float:
        """The ratio: below 1, it has become slower."""
        return math.exp(self.log)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        if math.isnan(self.below):
            return None
        return math.exp(self.log - self.below), math.exp(self.log + self.above)

    @property
    def is_repeated(self) -> bool:
        return self.noise.freedom > 0

    @property
    def can_be_judged(self) -> bool:
        """Whether that is known well enough for a verdict.

        Of two launches against ten, the variance of the two has one degree of freedom, and the
        verdicts are false in 12 %; of one against five it is not known how the one differs.
        """
        return self.is_repeated and (self.has_history or min(self.launches) >= FEWEST)

    @property
    def sem(self) -> float:
        return max(self.sem_with(*self.launches), self.least)

    def sem_with(self, before: int, after: int) -> float:
        share = 1 / before if self.is_paired else 1 / before + 1 / after
        return max(self.noise.std * math.sqrt(share), ROUNDING)


def ratios(pairs: Sequence[Pair]) -> list[Ratio]:
    """The ratios of the benchmarks of a suite; both sides of each have a rate above 0."""
    found = []
    for pair, noise in zip(pairs, _noises(pairs), strict=True):
        log = math.log(pooled_mean(pair.after) / pooled_mean(pair.before))
        if not noise.freedom:
            found.append(Ratio(log, *_within_launches(pair)))
            continue
        t, counts = quantile(OUTSIDE, noise.freedom), (len(pair.before), len(pair.after))
        least, has_history = pair.until / t, any(len(runs) > 1 for runs in pair.history)
        ratio = Ratio(log, math.nan, math.nan, counts, noise, least, has_history, pair.is_paired)
        found.append(replace(ratio, below=t * ratio.sem, above=t * ratio.sem))
    return found


def _noises(pairs: Sequence[Pair]) -> Iterator[Variance]:
    """How much launches differ: of sides with as many launches, over both.

    Of those the mean of both variances is right also where launches differ more on one side (B. L.
    Welch, Biometrika 34, 1947). Else each side needs its own, unless that of both together makes
    the interval wider; one of a single launch has that of the other.
    """
    both = moderated([pair.variance for pair in pairs])
    sides = [pair.variances for pair in pairs]
    befores, afters = (moderated([pair[k] for pair in sides]) for k in range(2))
    for pair, noise, before, after in zip(pairs, both, befores, afters, strict=True):
        if len(pair.before) == len(pair.after) or not before.freedom or not after.freedom:
            yield noise
            continue
        apart = mean_variance([before, after], [1 / len(pair.before), 1 / len(pair.after)])
        # of a few launches that are at one of two levels by chance, the variance seems to be none
        yield max(noise, apart, key=lambda each: each.std * quantile(OUTSIDE, each.freedom))


def _within_launches(pair: Pair) -> tuple[float, float]:
    """From the ratio of two single launches to both ends of its interval; NaN without one."""
    before, after = interval(pair.before), interval(pair.after)
    if before is None or after is None or min(before.low, after.low) <= 0:
        return math.nan, math.nan
    first, second = pooled_mean(pair.before), pooled_mean(pair.after)
    below = math.hypot(math.log(second / after.low), math.log(before.high / first))
    above = math.hypot(math.log(after.high / second), math.log(first / before.low))
    return below, above
