"""Finds where the steady state of a series of rates begins, and whether the rest still moves.

The marginal standard error rule, MSER (K. P. White, "An effective truncation heuristic for bias
reduction in simulation output", Simulation 69(6), 1997; K. P. White, M. J. Cobb, S. C. Spratt,
"A comparison of five steady-state truncation heuristics for simulation", WSC 2000): leave out the
d first observations for which the squared standard error of the rest, sum((x - mean)^2)/(n - d)^2,
is least. The rule balances the smaller bias against the fewer observations, and has no threshold
to tune. We take the deviations from a straight line instead of the mean: a device that heats up
slowly after one cold step has a start-up of one step.

We add two guards, since a pause of the machine is not a warm-up:

* a rate that is 5 robust standard deviations from the median of its neighbours is replaced by it
  (R. K. Pearson, "Outliers in process modeling and identification", IEEE Transactions on Control
  Systems Technology 10(1), 2002), so that one slow step is not taken for the end of a ramp;
* the observations that are left out must differ from the line through the rest by 4 standard
  errors, which heed that neighbours are alike (see ``batch_means``).

At most half of a series is left out. A rule that takes all of that half has failed, as its authors
say: the interval then reaches to the mean of the run. It has also failed if both halves of the rest
differ by more than 3 standard errors. These are of the deviations from the parabola or the step
that fits best, so that what moves does not hide in its own error. The report tells by how much the
rest rises or falls.

Told or not, the confidence interval reaches to the level at the end, the more surely the more the
halves differ, and to the rate that a start-up approaches (see ``start_up``). If what was left out
is at a level of its own instead, it may be one of two: the interval then reaches to the mean of the
run. Rates at one of two levels in turn (see ``levels``) are steady, but few visits to a level are
worth few observations.

Rates that change by a factor of two or more have no level that a mean would tell (``has_level``).
"""

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, np
from ...table import Measured
from . import levels, start_up
from .batch_means import MeanError, mean_error
from .values import COARSE, is_far, sliding_medians

FEWEST = 8  # with fewer, nothing is left out: too few to tell a ramp from chance
REAL = 4.0  # standard errors of a start-up
MOVES = 3.0  # standard errors of a difference between halves that is told
MAY_MOVE = 1.0  # and of one to whose end the interval surely reaches
MATTERS = 0.005  # the smallest change that is told, as a fraction
FITTED = 3  # parameters: two levels, and the place between them
NEAR = 3  # neighbours on each side of a pause
EDGE = 10  # a step has at least this part of the series on each side
TOO_FAR = 2.0  # the factor: beyond it, what was measured is another thing at the end


class Steady(Struct, frozen=True):
    """The observations from ``start`` on are steady; if not, ``problem`` has the reason."""

    start: int = 0
    problem: str = ""
    change: float = 0.0  # from the beginning to the end of the rest, as a fraction
    below: float = 0.0  # how far below the mean the interval reaches at least, as a fraction of it
    above: float = 0.0
    visits: int = 0  # to two levels in turn, if there are too few; else 0
    has_level: bool = True  # whether the rest is near one: if not, its mean tells nothing

    def reaching(self, change: float, margin: float) -> "Steady":
        """With an interval to what is off the mean by ``change``, and by ``margin`` beyond it."""
        if change < 0:
            return replace(self, below=max(self.below, margin - change))
        return replace(self, above=max(self.above, margin + change))


def steady_state(rates: Sequence[float] | Floats) -> Steady:
    """Find the steady state of finite rates, which are in the order of time."""
    n = len(rates)
    if n < FEWEST:
        return Steady(0)
    calm = _without_pauses(np.array(rates, dtype=float))
    start = most = n // 2
    while start:
        start = _least_standard_error(calm, most)
        if _differ(calm[:start], calm[start:]):
            break
        # a short ramp, and unusual rates later: look for the ramp alone
        most = start // 2
    found = _with_remainder(calm, _moves(calm[start:], start))
    if found.problem:
        return found
    if start == n // 2 or start_up.is_level(calm, start):
        return _unsure_start(calm, found)
    return replace(found, visits=levels.visits_if_few(np.array(rates, dtype=float), start))


def _with_remainder(rates: Floats, found: Steady) -> Steady:
    rest = rates[found.start :]
    mean = float(rest.mean())
    remainder = start_up.remainder(rates, found.start)
    if mean <= 0 or not remainder:
        return found
    return found.reaching(-remainder / mean, mean_error(rest).half_width / mean)


def _unsure_start(rates: Floats, found: Steady) -> Steady:
    """The steady state where it is not known whether what was left out was a start-up.

    It may as well be one of two levels in turn, so the interval reaches to the mean of the run.
    """
    rest = rates[found.start :]
    before, mean = float(rates[: found.start].mean()), float(rest.mean())
    if min(before, mean) <= 0:
        return found
    apart, change = before / mean - 1, mean / before - 1
    how = f"{abs(apart):.1%} {'slower' if apart < 0 else 'faster'}"
    first = f"the first {found.start} of its {len(rates)} rates"
    problem = f"{first}, which are left out, are {how} than the rest"
    told = replace(found, problem=problem, change=change)
    share = found.start / len(rates)
    return told.reaching(apart * share, mean_error(rest).half_width / mean)


def _without_pauses(rates: Floats) -> Floats:
    middle = sliding_medians(rates, NEAR)
    is_pause = is_far(rates - middle, float(np.median(rates)))
    is_pause[:NEAR] = False  # a start-up
    return np.where(is_pause, middle, rates)


def _least_standard_error(rates: Floats, most: int) -> int:
    """The number of observations to leave out by MSER around a line, at most ``most``."""
    n = len(rates)
    place = np.arange(n, dtype=float)[::-1]
    above = rates[::-1] - rates[-1]  # shifted near to the mean, the sums of squares stay exact
    kept = np.arange(1.0, n + 1)
    total = np.cumsum(above)
    squares = np.cumsum(above**2) - total**2 / kept
    place -= place[0]
    products = np.cumsum(place * above) - np.cumsum(place) * total / kept
    places = np.maximum(kept * (kept**2 - 1) / 12, 1.0)
    around_line = np.maximum(squares - products**2 / places, 0.0)
    smallest = kept * (1e-9 * np.abs(rates).max()) ** 2  # of rounding
    errors = np.maximum(around_line, smallest) / kept**2
    return int(np.argmin(errors[n - 1 - most :][::-1]))


def _differ(first: Floats, rest: Floats) -> bool:
    if not len(first):
        return False
    count = len(rest)
    place = np.arange(-len(first), count) - (count - 1) / 2
    places = count * (count**2 - 1) / 12
    line = rest.mean() + place * float(place[-count:] @ rest) / places
    sem = _error(rest - line[-count:], 2).sem
    far = float(place[: len(first)].mean())
    error = sem * math.sqrt(count / len(first) + 1 + count * far**2 / places)
    distance = abs(float(np.median(first - line[: len(first)])))
    return distance > max(REAL * error, COARSE * abs(float(rest.mean())))


def _moves(rates: Floats, start: int) -> Steady:
    """The steady state of the rates from ``start`` on, and how they still move."""
    count = len(rates)
    if count < FEWEST:
        return Steady(start)
    step = _step(rates)
    # what moves must not hide in its own error: neither a bend nor a step
    error = _error(rates - _nearest(rates, _curve(rates, 2), step), FITTED)
    half = count // 2
    halves = abs(float(rates[-half:].mean() - rates[:half].mean()))
    # the error of their difference is twice that of the mean
    sure = halves / max(2 * error.sem, 1e-12 * abs(float(rates.mean())))
    fit = _nearest(rates, _curve(rates, 1), step)
    before, after, mean = float(fit[0]), float(fit[-1]), float(rates.mean())
    if min(before, after) <= 0:  # of a line through rates that begin, or end, near to 0
        edge = max(2, count // EDGE)
        before, after = float(rates[:edge].mean()), float(rates[-edge:].mean())
    if min(before, mean) <= 0:
        return Steady(start)
    change = after / before - 1
    margin = 2 * error.half_width / mean * min(sure / MAY_MOVE, 1.0)
    problem = ""
    if sure > MOVES and abs(change) > MATTERS:
        how = "rises" if after > before else "falls"
        by = f" by {abs(change):.1%}," if change < 1 else ""
        problem = f"its rate still {how}{by} from {rate_text(before)} to {rate_text(after)}"
    has_level = not problem or 1 / TOO_FAR < after / before < TOO_FAR
    found = Steady(start, problem, change, has_level=has_level)
    return found.reaching(after / mean - 1, margin)


def rate_text(rate: float) -> str:
    return Measured(rate, rate / 1000).text(".5g")


def _error(deviations: Floats, parameters: int) -> MeanError:
    error = mean_error(deviations, parameters)
    # rates that alternate have a very sure mean, but only over many of them
    least = float(deviations.std(ddof=parameters)) / math.sqrt(len(deviations))
    return MeanError(max(error.sem, least), error.freedom)


def _nearest(rates: Floats, *fits: Floats) -> Floats:
    return min(fits, key=lambda fit: float(((rates - fit) ** 2).sum()))


def _curve(rates: Floats, degree: int) -> Floats:
    place = np.linspace(-1, 1, len(rates))
    return np.polynomial.Polynomial.fit(place, rates, degree)(place)


def _step(rates: Floats) -> Floats:
    n = len(rates)
    edge = max(2, n // EDGE)
    count = np.arange(edge, n - edge + 1)
    first = int(count[np.argmax(start_up.explained_by_step(rates, count))])
    return np.repeat([rates[:first].mean(), rates[first:].mean()], [first, n - first])
