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
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Counts, Floats, Marks, np
from ...results.rate_columns import RateColumns

FEWEST = 3  # times between lines, or bunches: with fewer, they show no pattern
SOON = 0.01  # seconds: a line that comes sooner after another was held in a buffer
FITS = 0.25  # the largest mean deviation of the times from a pattern, as a fraction
ALIKE = 0.01  # two kinds that fit so nearly as well cannot be told apart: the same work is usual
PAUSE = 5.0
LATE = 1.2  # a line that comes later than so many of its durations came after something else
OVERLAPS = 0.1  # the largest share of lines whose clocks may disagree


class Weighed(Struct, frozen=True, eq=False):
    """Observations that count, and their durations, in a unit that is the same for all."""

    lines: RateColumns
    seconds: Floats  # shape (n,)

    def __len__(self) -> int:
        return len(self.seconds)

    @classmethod
    def nothing(cls) -> "Weighed":
        return cls(RateColumns.none(), np.empty(0))


def weighed(lines: RateColumns) -> Weighed:
    """The observations of a rank that count, with their durations, by the rule above."""
    seen, lasted = _durations(lines)
    is_known = np.isfinite(lasted)
    return Weighed(seen, lasted) if is_known.all() else Weighed(seen.at(is_known), lasted[is_known])


def _durations(lines: RateColumns) -> tuple[RateColumns, Floats]:
    """The lines that count, and how long each lasted; infinite or NaN where it is not known."""
    seen = lines if lines.counts.all() else lines.at(lines.counts)
    if not np.isnan(seen.steps).any():
        return seen, seen.steps * _over(1.0, seen.rate)
    seconds = by_elapsed(seen)
    if seconds is None:
        seconds = _by_clock(lines, seen)
    return seen, seconds


def between(lines: RateColumns) -> tuple[float, float]:
    """The seconds between observations that are in none of them, and all seconds, by the clock.

    An observation that came much later than the others, for its duration, came after something
    that no rate measures, such as a validation. What comes between all of them is seen only if
    they tell their durations in seconds.

    Args:
        lines: all observations of one rank.
    """
    bunches = _clock(lines)
    # the wait for the start of all processes is before the first that counts
    bunches = bunches.at(bunches.are_whole(lines.counts) & lines.counts[bunches.begins - 1])
    took = bunches.seconds
    if len(took) < FEWEST:
        return 0.0, float(took.sum())
    seen, durations = _durations(lines)
    lasted = np.zeros(len(lines))
    lasted[lines.counts] = durations
    measured = bunches.sum_of(lasted)
    if not ((measured > 0) & np.isfinite(measured)).all():
        return 0.0, float(took.sum())
    second = 1.0
    if by_elapsed(seen) is None or not np.isnan(seen.steps).any():
        second = float(np.median(took / measured))
    is_late = took > LATE * second * measured
    return float((took - second * measured)[is_late].sum()), float(took.sum())


def _over(work: float, rates: Floats) -> Floats:
    """Seconds for some work; infinite if the rate is 0."""
    with np.errstate(divide="ignore"):
        seconds: Floats = work / rates
    return seconds


def _for_same_work(rates: Floats) -> Floats:
    """The durations of lines for the same work; exactly 1 if all rates are equal."""
    return _over(next(filter(None, rates), 1.0), rates)


def by_elapsed(seen: RateColumns) -> Floats | None:
    """What the lines tell as ``elapsed``, if that is the time of each and not of all so far."""
    if len(seen) < 2 or not (seen.elapsed > 0).all() or np.isnan(seen.time).any():
        return None
    overlaps = np.count_nonzero(np.diff(seen.time) < (1 - OVERLAPS) * seen.elapsed[1:])
    return seen.elapsed if overlaps <= OVERLAPS * len(seen) else None


class _Bunches(Struct, frozen=True, eq=False):
    """Lines that came together: where they begin and end among all lines, shape (k,) each."""

    begins: Counts
    ends: Counts
    seconds: Floats  # that each took

    def at(self, chosen: Marks) -> "_Bunches":
        return _Bunches(self.begins[chosen], self.ends[chosen], self.seconds[chosen])

    def sum_of(self, values: Floats | Marks) -> Floats:
        edges = np.stack([self.begins, self.ends], axis=1).ravel()
        return np.add.reduceat(np.append(values, 0.0), edges)[::2]

    def are_whole(self, marks: Marks) -> Marks:
        found: Marks = self.sum_of(marks) == self.ends - self.begins
        return found


def _by_clock(lines: RateColumns, seen: RateColumns) -> Floats:
    """The durations that the times between all lines show, of those that are seen."""
    bunches = _clock(lines)
    bunches = bunches.at(bunches.are_whole(lines.counts))
    count = len(bunches.begins)
    if count < FEWEST:
        return _for_same_work(seen.rate)
    own = np.zeros(len(lines))
    own[lines.counts] = _over(1.0, seen.rate)
    # what both kinds of lines make of the bunches
    by_work, by_count = bunches.sum_of(own), (bunches.ends - bunches.begins).astype(float)
    unit, off_work = _fit(bunches.seconds, by_work)
    each, off_count = _fit(bunches.seconds, by_count)
    if min(off_work, off_count) <= FITS:
        is_same_work = off_work <= off_count + ALIKE
        return _for_same_work(seen.rate) if is_same_work else np.ones(len(seen))
    line = np.arange(len(lines))
    place = np.searchsorted(bunches.begins, line, "right") - 1
    line = line[(place >= 0) & (line < bunches.ends[place])]
    place = place[line]
    with np.errstate(invalid="ignore"):
        most = PAUSE * np.fmax(unit * by_work, each * by_count)
        share = own[line] / by_work[place]
    share = np.where(np.isinf(by_work[place]), 1 / by_count[place], share)
    found = np.full(len(lines), each)  # a line whose time is not known is a usual one
    found[line] = share * np.minimum(bunches.seconds, most)[place]
    return found[lines.counts]


def _clock(lines: RateColumns) -> _Bunches:
    arrived, told = _bunches(lines.arrived), _bunches(lines.time)
    return told if len(told.begins) > len(arrived.begins) else arrived


def _bunches(times: Floats) -> _Bunches:
    """The lines by the times at which they came, without the first; none if the clock is unsure."""
    apart = np.diff(times)
    if len(times) < 2 or not (apart >= 0).all():  # false for NaN
        return _Bunches(np.empty(0, int), np.empty(0, int), np.empty(0))
    begins = np.flatnonzero(apart > SOON) + 1
    ends = np.append(begins[1:], len(times))[: len(begins)]
    return _Bunches(begins, ends, times[ends - 1] - times[begins - 1])


def _fit(took: Floats, expected: Floats) -> tuple[float, float]:
    """The median of ``took / expected``, and the mean deviation from it, as a fraction.

    Each deviation counts as at most a factor of ``PAUSE``: a pause fits neither kind of lines.
    """
    finite = np.isfinite(expected)
    if not finite.any():
        return math.inf, math.inf
    logs = np.log(np.maximum(took[finite], 1e-9) / expected[finite])
    middle = float(np.median(logs))
    off = float(np.minimum(np.abs(logs - middle), math.log(PAUSE)).mean())
    # a rate of 0 is not for any work
    return math.exp(middle), off if finite.all() else math.inf


def sum_of_ranks(ranks: Sequence[Weighed]) -> Weighed:
    """The rate of all ranks together, while each observation of the first was made.

    Ranks of a job measure during the same time, so the durations of each are taken as fractions of
    it. The mean rate of the result is the sum of those of the ranks.

    Args:
        ranks: the weighed observations of each rank that told any; at least one.
    """
    first, *others = ranks
    if not others:
        return first
    ends, _ = _course(first)
    rates = first.lines.rate.copy()
    for other in others:
        rates += np.diff(np.interp(ends, *_course(other))) / np.diff(ends)
    return Weighed(replace(first.lines, rate=rates), first.seconds)


def _course(seen: Weighed) -> tuple[Floats, Floats]:
    """The units that were done until each moment, both as fractions of the time of the rank.

    Returns:
        the ends of the observations after a 0, and the units until then, shape (n + 1,) each.
    """
    share = np.concatenate([[0.0], seen.seconds / seen.seconds.sum()])
    ends = np.cumsum(share)
    return ends / ends[-1], np.cumsum(np.concatenate([[0.0], seen.lines.rate]) * share)
