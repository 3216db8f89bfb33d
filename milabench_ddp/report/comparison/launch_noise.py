"""How much launches of a benchmark differ, with what its suite tells about it.

Few launches tell their variance badly: of two and two it has two degrees of freedom. The launches
of a suite's other benchmarks, on the same machine, tell more. So the variance of each is drawn to
that of all, the more the fewer launches it has itself, and the more alike the benchmarks are: the
moderated t of G. K. Smyth ("Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments", Statistical Applications in Genetics and Molecular Biology
3(1), 2004). How alike they are is estimated, too, and taken to be half a standard error less. A
benchmark that clearly varies more than the others stands for itself (B. Phipson et al., "Robust
hyperparameter estimation protects against hypervariable genes", Annals of Applied Statistics 10(2),
2016).
"""

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct

from ..statistics.student import digamma, inverse_trigamma, tail_of_f, trigamma

FEWEST = 3  # benchmarks that tell how alike they are
CAUTION = 0.5  # standard errors of how alike they are
STANDS_OUT = 0.02  # the probability of a variance so large by chance


class Variance(Struct, frozen=True):
    """An estimated variance, and the degrees of freedom of its estimate; 0: it is not known."""

    value: float
    freedom: float

    @property
    def std(self) -> float:
        return math.sqrt(self.value)


UNKNOWN = Variance(math.nan, 0)


def moderated(own: Sequence[Variance]) -> list[Variance]:
    common = _common(own)
    return [_together(each, common) if each.freedom else each for each in own]


def _common(own: Sequence[Variance]) -> Variance:
    """What the variances of the others tell of one; no degrees of freedom if nothing."""
    known = [each for each in own if each.freedom and each.value > 0]
    if len(known) < FEWEST:
        return UNKNOWN
    logs, noise = [], []
    for each in known:
        half = each.freedom / 2
        logs.append(math.log(each.value) - digamma(half) + math.log(half))
        noise.append(trigamma(half))
    apart = statistics.variance(logs)
    caution = CAUTION * math.sqrt(2 / (len(known) - 1)) * apart
    excess = apart - statistics.fmean(noise) + caution
    middle = statistics.fmean(logs)
    most = sum(each.freedom for each in known)
    if excess <= trigamma(most / 2):
        return Variance(math.exp(middle), most)
    half = inverse_trigamma(excess)
    return Variance(math.exp(middle + digamma(half) - math.log(half)), 2 * half)


def _together(own: Variance, common: Variance) -> Variance:
    if not common.freedom:
        return own
    if tail_of_f(own.value / common.value, own.freedom, common.freedom) < STANDS_OUT:
        return own
    return mean_variance([own, common], [own.freedom, common.freedom])


def mean_variance(variances: Sequence[Variance], weights: Sequence[float]) -> Variance:
    """The weighted mean of independent variances, some of which may be 0.

    Its degrees of freedom (F. E. Satterthwaite, Biometrics Bulletin 2, 1946) are near those of the
    one that is most of it.
    """
    parts, errors = [], []
    for each, weight in zip(variances, weights, strict=True):
        part = each.value * weight / math.fsum(weights)
        parts.append(part)
        errors.append(part**2 / each.freedom)
    whole = math.fsum(parts)
    if not whole:
        return Variance(0.0, min(each.freedom for each in variances))
    return Variance(whole, whole**2 / math.fsum(errors))
