"""Finds where the steady state of a series of rates begins.

The marginal standard error rule, MSER (K. P. White, "An effective truncation heuristic for bias
reduction in simulation output", Simulation 69(6), 1997; K. P. White, M. J. Cobb, S. C. Spratt,
"A comparison of five steady-state truncation heuristics for simulation", WSC 2000): leave out the
d first observations for which the squared standard error of the rest, sum((x - mean)^2)/(n - d)^2,
is least. The rule balances the smaller bias against the fewer observations, and has no threshold
to tune.

We add two guards, since a pause of the machine is not a warm-up:

* rates are clipped to 5 robust standard deviations around the level of the second half
  (winsorised), so that one slow step in the middle is not taken for the end of a ramp;
* the observations that are left out must differ from the rest by 4 standard errors of the median.

At most half of a series is left out. If the rest still rises or falls, there is no steady state,
and the report says so.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST = 8  # with fewer, nothing is left out: too few to tell a ramp from chance
CLIP = 5.0  # robust standard deviations
REAL = 4.0  # standard errors
MOVES = 0.02  # the smallest difference between both halves of the rest that matters, as a fraction
MAD_TO_STD = 1.4826  # of a normal distribution
MEDIAN_TO_MEAN = 1.2533  # standard errors of a median and of a mean, of a normal distribution


@dataclass(frozen=True)
class Steady:
    """The observations from ``start`` on are steady; if not, ``problem`` has the reason."""

    start: int
    problem: str = ""


def steady_state(rates: Sequence[float]) -> Steady:
    """Find the steady state of a series of rates.

    Args:
        rates: finite, in units per second, in the order of time.
    """
    n = len(rates)
    if n < FEWEST:
        return Steady(0)
    level, spread = _robust(rates[n // 2 :])
    low, high = level - CLIP * spread, level + CLIP * spread
    clipped = [min(max(rate, low), high) for rate in rates]
    start = _least_standard_error(clipped, n // 2)
    while start and not _differ(rates[:start], rates[start:]):
        # a short ramp, and unusual rates later: look for the ramp alone
        start = _least_standard_error(clipped, start // 2)
    return Steady(start, _drift(rates[start:]))


def _robust(rates: Sequence[float]) -> tuple[float, float]:
    level = statistics.median(rates)
    mad = statistics.median(abs(x - level) for x in rates)
    # clocks are coarse: if most rates are equal, one that differs by a thousandth is still near
    return level, max(MAD_TO_STD * mad, 1e-3 * abs(level))


def _least_standard_error(rates: Sequence[float], most: int) -> int:
    """The number of observations to leave out by MSER, at most ``most``."""
    n, shift = len(rates), rates[-1]  # shifted near to the mean, the sums of squares stay exact
    total = squares = 0.0
    least, best = math.inf, 0
    for d in range(n - 1, -1, -1):
        x = rates[d] - shift
        total += x
        squares += x * x
        kept = n - d
        error = max(squares - total * total / kept, 0.0) / kept**2
        if d <= most and error <= least:
            least, best = error, d
    return best


def _differ(first: Sequence[float], rest: Sequence[float]) -> bool:
    """Whether the medians of two series differ by more than chance."""
    if not first or not rest:
        return False
    level, spread = _robust(rest)
    error = MEDIAN_TO_MEAN * spread * math.sqrt(1 / len(first) + 1 / len(rest))
    return abs(statistics.median(first) - level) > REAL * error


def _drift(rates: Sequence[float]) -> str:
    """A sentence if both halves differ by more than chance and enough to matter, else empty."""
    if len(rates) < FEWEST:
        return ""
    half = len(rates) // 2
    first, last = rates[:half], rates[-half:]
    before = statistics.median(first)
    after = statistics.median(last)
    if abs(after - before) <= MOVES * abs(before):
        return ""
    if not (_differ(first, last) and _differ(last, first)):
        return ""
    how = "rises" if after > before else "falls"
    return f"no steady state: it still {how}, from {before:.5g} to {after:.5g}"
