"""Student's t and Fisher's F at any level, and the functions that they are made of.

SciPy has them all, and would be 100 MB for four functions. The incomplete beta function is its
continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22), by the method of W. J.
Lentz ("Generating Bessel functions in Mie scattering calculations", Applied Optics 15(3), 1976).
Digamma and trigamma are their asymptotic series (DLMF 5.11.2 and 5.15.8) after their recurrences.
"""

import math
from functools import lru_cache
from statistics import NormalDist

NORMAL = 1e6  # degrees of freedom from which on t is taken to be normal
TINY = 1e-300
PRECISE = 1e-15
MOST_TERMS = 10_000  # of the fraction: about as many as the root of the degrees of freedom
SERIES_FROM = 8.0  # where both series are right to 1e-10


def tail(t: float, freedom: float) -> float:
    """The probability that Student's t is more than ``t``."""
    if t < 0:
        return 1 - tail(-t, freedom)
    if freedom > NORMAL:
        return math.erfc(t / math.sqrt(2)) / 2
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


@lru_cache(maxsize=1000)  # the benchmarks of a suite have much the same launches
def quantile(above: float, freedom: float) -> float:
    """The t that is exceeded with the probability ``above``, of less than 0.5.

    By Newton's method: from the normal quantile, which is smaller, it only grows.
    """
    t = NormalDist().inv_cdf(1 - above)
    if freedom > NORMAL:
        return t
    scale = _log_ratio(freedom) - math.log(freedom * math.pi) / 2
    for _ in range(MOST_TERMS):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (tail(t, freedom) - above) / density
        t += step
        if abs(step) < 1e-9 * t:
            break
    return t


def assured(t: float, missed: float, known: float, freedom: float) -> float:
    """The change that a t test finds but for ``missed``, in standard errors as they are estimated.

    The estimate is not the true one, and that of the test will be another. So the power is the mean
    over both, as in an assurance (A. O'Hagan, J. W. Stevens, M. J. Campbell, "Assurance in clinical
    trial design", Pharmaceutical Statistics 4(3), 2005). A standard deviation is taken to be normal
    around its mean, as in the approximation of the noncentral t (N. L. Johnson, B. L. Welch,
    Biometrika 31, 1940).

    Args:
        t: beyond which the test finds a change.
        missed: the probability that it does not.
        known: degrees of freedom of the estimate.
        freedom: of the test. Infinity is returned if there are too few of either.
    """
    z = NormalDist().inv_cdf(1 - missed)
    own, other = _mean_deviation(known), _mean_deviation(freedom)
    a = own**2 - z**2 * (1 - own**2)
    b = own * other * t
    c = (other * t) ** 2 - z**2 * (1 + t**2 * (1 - other**2))
    return (b + math.sqrt(max(b * b - a * c, 0.0))) / a if a > 0 else math.inf


def _mean_deviation(freedom: float) -> float:
    if freedom > NORMAL:
        return 1.0
    return math.sqrt(2 / freedom) * math.exp(_log_ratio(freedom))


def _log_ratio(freedom: float) -> float:
    """The logarithm of the gamma function of ``(freedom + 1) / 2``, over that of half of it."""
    return math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)


def tail_of_f(f: float, numerator: float, denominator: float) -> float:
    """The probability that Fisher's F is more than ``f``, by its two degrees of freedom."""
    inside = denominator / (denominator + numerator * f)
    return incomplete_beta(denominator / 2, numerator / 2, inside)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b)."""
    if not 0 < x < 1:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other tail converges
        return 1 - incomplete_beta(b, a, 1 - x)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logs += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logs) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            change = c * d
            value *= change
        if abs(change - 1) < PRECISE:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function, for x above 0."""
    shift = 0.0
    while x < SERIES_FROM:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    return shift + math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y / 240)))


def trigamma(x: float) -> float:
    """The derivative of digamma, for x above 0."""
    shift = 0.0
    while x < SERIES_FROM:
        shift += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return shift + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30)))


def inverse_trigamma(value: float) -> float:
    """The x above 0 whose trigamma is ``value``, by bisection: it falls."""
    low, high = 1e-8, 1.0
    while trigamma(high) > value:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if trigamma(middle) > value:
            low = middle
        else:
            high = middle
    return high
