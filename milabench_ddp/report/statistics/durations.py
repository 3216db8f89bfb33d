"""How long each observation of a rate lasted: its weight in the mean rate.

The rate of a process is its total units over its total time, so an observation of 100 ms weighs ten
times as much as one of 10 ms. This is the rule by which the durations of a rank's observations are
known; only their ratios matter.

1. Its lines tell ``steps``. All steps do the same work, so a line lasted ``steps / rate``.
2. Its lines tell ``time`` and ``elapsed``, as milabench's do, and these agree: no line overlaps the
   one before. Then a line lasted ``elapsed`` seconds.
3. The lines carry the time at which they arrived, or ``time``, when the program wrote them. The
   times between the lines show which kind of lines they are:

   * proportional to ``1 / rate``: each line is for the same work, a step or a number of steps;
     it lasted ``1 / rate``
   * equal: each line is for the same time
   * neither: a line lasted from the line before to its own, but no longer than ``PAUSE`` times what
     both kinds above would make of it: the rest was a pause between observations

   Lines that were held in a buffer come in a bunch, within ``SOON`` of each other: they are
   compared as one, by the time since the bunch before. Of arrival and ``time``, the one with more
   bunches counts. Where both kinds fit, each line is for the same work.
4. There are no times, or too few bunches to tell, such as all lines at the end: each line is for
   the same work, and lasted ``1 / rate``. milabench writes a line for each step.

The first line has no line before, so it is taken to be as the others. A rate of 0 has a duration
only by the clock (2, 3); without one it is left out.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from operator import truediv
from typing import TYPE_CHECKING

from ...results.rates import is_rate
from ...results.records import Observation, is_finite

if TYPE_CHECKING:
    from .values import Floats

FEWEST = 3  # times between lines, or bunches: with fewer, they show no pattern
SOON = 0.01  # seconds: a line that comes sooner after another was held in a buffer
FITS = 0.25  # the largest mean deviation of the times from a pattern, as a fraction
ALIKE = 0.01  # two kinds that fit so nearly as well cannot be told apart: the same work is usual
PAUSE = 5.0
LATE = 1.2  # a line that comes later than so many of its durations came after something else
OVERLAPS = 0.1  # the largest share of lines whose clocks may disagree

Weighed = tuple[Observation, float]
"""An observation and its duration, in a unit that is the same for all observations of a rank."""


def counts(line: Observation) -> bool:
    """Whether an observation counts: not as warm-up, not written twice, and with a usable rate."""
    return not line.warmup and not line.repeated and is_rate(line.rate)


def weighed(lines: Sequence[Observation]) -> list[Weighed]:
    """The observations that count, with their durations, by the rule above.

    Args:
        lines: all observations of one rank, in the order in which they were written.
    """
    lasted = _durations(lines)
    return [(lines[k], seconds) for k, seconds in lasted.items() if math.isfinite(seconds)]


def _durations(lines: Sequence[Observation]) -> dict[int, float]:
    """The durations of the observations that count, by their places."""
    counting = [k for k, line in enumerate(lines) if counts(line)]
    seen = [lines[k] for k in counting]
    seconds = _by_steps(seen) or by_elapsed(seen) or _by_clock(lines, counting)
    if seconds is None:
        seconds = _for_same_work(seen)
    return dict(zip(counting, seconds, strict=True))


def between(lines: Sequence[Observation]) -> tuple[float, float]:
    """The seconds between observations that are in none of them, and all seconds, by the clock.

    An observation that came much later than the others, for its duration, came after something
    that no rate measures, such as a validation. What comes between all of them is seen only if
    they tell their durations in seconds.

    Args:
        lines: all observations of one rank, in the order in which they were written.
    """
    lasted = _durations(lines)
    took, measured = [], []
    for bunch in _clock(lines):
        # the wait for the start of all processes is before the first that counts
        if lasted.keys() >= {bunch.lines[0] - 1, *bunch.lines}:
            took.append(bunch.seconds)
            measured.append(math.fsum(lasted[k] for k in bunch.lines))
    if len(took) < FEWEST or not all(0 < seconds < math.inf for seconds in measured):
        return 0.0, math.fsum(took)
    second = 1.0
    if not by_elapsed([lines[k] for k in lasted]) or all(lines[k].steps for k in lasted):
        second = statistics.median(map(truediv, took, measured))
    gaps = []
    for seconds, own in zip(took, measured, strict=True):
        if seconds > LATE * second * own:
            gaps.append(seconds - second * own)
    return math.fsum(gaps), math.fsum(took)


def _for_a_unit(line: Observation) -> float:
    """Seconds for one unit of work; infinite if the rate is 0."""
    return 1 / line.rate if line.rate else math.inf


def _for_same_work(seen: Sequence[Observation]) -> list[float]:
    """The durations of lines for the same work; exactly 1 if all rates are equal."""
    level = next((line.rate for line in seen if line.rate), 1.0)
    return [level / line.rate if line.rate else math.inf for line in seen]


def _by_steps(seen: Sequence[Observation]) -> list[float] | None:
    if not all(line.steps for line in seen):
        return None
    return [(line.steps or 1) * _for_a_unit(line) for line in seen]


def by_elapsed(seen: Sequence[Observation]) -> list[float] | None:
    """What the lines tell as ``elapsed``, if that is the time of each and not of all so far."""
    overlaps, before = 0, -math.inf
    seconds: list[float] = []
    for line in seen:
        if not (is_finite(line.time) and is_finite(line.elapsed) and line.elapsed > 0):
            return None
        overlaps += line.time - before < (1 - OVERLAPS) * line.elapsed
        before = line.time
        seconds.append(float(line.elapsed))
    return seconds if overlaps <= OVERLAPS * len(seen) and len(seen) > 1 else None


@dataclass(frozen=True)
class _Bunch:
    """Lines that came together: their places among all lines, and the seconds that they took."""

    lines: tuple[int, ...]
    seconds: float


def _by_clock(lines: Sequence[Observation], counting: Sequence[int]) -> list[float] | None:
    """The durations that the times between the lines show; None if they show no pattern."""
    counted = set(counting)
    bunches = []
    for bunch in _clock(lines):
        if counted.issuperset(bunch.lines):
            bunches.append(bunch)
    if len(bunches) < FEWEST:
        return None
    took = [bunch.seconds for bunch in bunches]
    by_work, by_count = [], []  # what both kinds of lines make of the bunches
    for bunch in bunches:
        by_work.append(math.fsum(_for_a_unit(lines[k]) for k in bunch.lines))
        by_count.append(float(len(bunch.lines)))
    unit, off_work = _fit(took, by_work)
    each, off_count = _fit(took, by_count)
    if min(off_work, off_count) <= FITS:
        seen = [lines[k] for k in counting]
        return _for_same_work(seen) if off_work <= off_count + ALIKE else [1.0] * len(seen)
    found = dict.fromkeys(counting, each)  # a line whose time is not known is a usual one
    for bunch, work, count in zip(bunches, by_work, by_count, strict=True):
        seconds = min(bunch.seconds, PAUSE * max(unit * work, each * count))
        for k in bunch.lines:
            share = 1 / count if math.isinf(work) else _for_a_unit(lines[k]) / work
            found[k] = share * seconds
    return list(found.values())


def _clock(lines: Sequence[Observation]) -> list[_Bunch]:
    """The bunches of lines by the better of both clocks."""
    arrived = _bunches([line.arrived for line in lines])
    told = _bunches([line.time for line in lines])
    return told if len(told) > len(arrived) else arrived


def _bunches(times: Sequence[object]) -> list[_Bunch]:
    """The lines by the times at which they came, without the first; none if the clock is unsure."""
    known = [time for time in times if is_finite(time)]
    if len(known) < max(len(times), 2) or known != sorted(known):
        return []
    bunches: list[_Bunch] = []
    begun, since = 0, -math.inf
    for k in range(1, len(known)):
        if known[k] - known[k - 1] > SOON:
            bunches.append(_Bunch(tuple(range(begun, k)), known[k - 1] - since))
            begun, since = k, known[k - 1]
    bunches.append(_Bunch(tuple(range(begun, len(known))), known[-1] - since))
    return bunches[1:]


def _fit(took: Sequence[float], expected: Sequence[float]) -> tuple[float, float]:
    """The median of ``took / expected``, and the mean deviation from it, as a fraction.

    Each deviation counts as at most a factor of ``PAUSE``: a pause fits neither kind of lines.
    """
    pairs = [pair for pair in zip(took, expected, strict=True) if math.isfinite(pair[1])]
    if not pairs:
        return math.inf, math.inf
    logs = [math.log(max(seconds, 1e-9) / units) for seconds, units in pairs]
    middle = statistics.median(logs)
    off = statistics.fmean(min(abs(x - middle), math.log(PAUSE)) for x in logs)
    # a rate of 0 is not for any work
    return math.exp(middle), off if len(pairs) == len(took) else math.inf


def sum_of_ranks(ranks: Sequence[Sequence[Weighed]]) -> list[Weighed]:
    """The rate of all ranks together, while each observation of the first was made.

    Ranks of a job measure during the same time, so the durations of each are taken as fractions of
    it. The mean rate of the result is the sum of those of the ranks.

    Args:
        ranks: the weighed observations of each rank that told any.
    """
    if len(ranks) < 2:
        return list(ranks[0]) if ranks else []
    import numpy as np

    first, *others = ranks
    ends, _ = _course(first)
    rates = np.array([float(seen.rate) for seen, _ in first])
    for other in others:
        rates += np.diff(np.interp(ends, *_course(other))) / np.diff(ends)
    added = zip(first, rates.tolist(), strict=True)
    return [(seen._replace(rate=rate), seconds) for (seen, seconds), rate in added]


def _course(seen: Sequence[Weighed]) -> tuple["Floats", "Floats"]:
    """The units that were done until each moment, both as fractions of the time of the rank.

    Returns:
        the ends of the observations after a 0, and the units until then, shape (n + 1,) each.
    """
    import numpy as np

    seconds = np.array([0.0, *(seconds for _, seconds in seen)])
    share = seconds / seconds.sum()
    rates = np.array([0.0, *(float(line.rate) for line, _ in seen)])
    ends = np.cumsum(share)
    return ends / ends[-1], np.cumsum(rates * share)
