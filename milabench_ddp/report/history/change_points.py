"""Change points and drifts in a series of runs, and the rule that bounds false alarms.

**Where** a series may have changed is found by E-divisive with means (D. S. Matteson, N. A. James,
"A nonparametric approach for multiple change point analysis of multivariate data", JASA 109,
2014): the split whose two sides are farthest apart by the energy distance, for each end that the
series may have had. **Whether** it did is told by Student's t instead of permutations, as Hunter
and Apache Otava do: permutations of few runs cannot show a small probability. After a change, both
sides are searched in the same way. A series that a line fits better than a step drifts.

**False alarms.** A user who looks after each run, for ever, at series that do not change, is
told of a change with a probability of at most ``alpha``. For that, the test of one split of the
first n runs of one of the S series is made at the level

    alpha / (S n^2 (n - 1)),    as the sum over n >= 2 of 1 / (n (n - 1)) is 1:

n - 1 splits and one line are tried with each n. The union bound holds whatever the dependence. A
change also needs so many runs that are so far off that they cannot all be outliers. ``noise`` says
what a deviation is; ``tests/studies/planted_history.py`` shows how often there is an alarm, and
when a change is found.
"""

import math
from collections.abc import Iterator
from itertools import groupby, pairwise

from msgspec import Struct

from ...numerics import Floats, Marks, np
from ..statistics.batch_means import t_quantile
from ..statistics.student import tail
from .noise import FEWEST, Family, energies, places, without_line, without_lone_runs, without_step

FOR_ALL = 0.8  # the part of the level at which all runs after a change tell it


class Segment(Struct, frozen=True):
    """Runs without a change between them."""

    first: int
    end: int
    begins: float  # the level at its first run, as a logarithm
    ends: float  # at its last run: another where it drifts

    @property
    def worth(self) -> float:
        """How many runs the level at an end of it is worth; at that of a line, a fourth of them."""
        runs = self.end - self.first
        if self.begins == self.ends:
            return runs
        return runs * (runs + 1) / (4 * runs - 2)


class Step(Struct, frozen=True):
    """A change from one level to another."""

    at: int  # the first run after it
    before: float  # the level, as a logarithm
    after: float
    error: float  # half of its 95 % interval

    @property
    def size(self) -> float:
        return self.after - self.before


class Changes(Struct, frozen=True):
    """What a series did."""

    segments: tuple[Segment, ...] = ()
    variance: float = 0.0  # of a run
    freedom: float = 1.0  # of this variance

    @property
    def steps(self) -> list[Step]:
        return [self._step(before, after) for before, after in pairwise(self.segments)]

    def visits(self, at: int, close: float) -> int:
        """How often the series is at the level of the segment that begins at the run ``at``.

        Args:
            close: levels that differ by no more, or by no more than they err, are one.
        """
        level = next(each for each in self.segments if each.first == at)
        steps = [self._step(each, level) for each in self.segments]
        is_there = (abs(step.size) <= max(step.error, close) for step in steps)
        return sum(there for there, _ in groupby(is_there))

    @property
    def whole(self) -> Step:
        first, last = self.segments[0], self.segments[-1]
        return Step(first.first, first.begins, last.ends, self._error(first, last))

    def _step(self, before: Segment, after: Segment) -> Step:
        return Step(after.first, before.ends, after.begins, self._error(before, after))

    def _error(self, before: Segment, after: Segment) -> float:
        variance = self.variance * (1 / before.worth + 1 / after.worth)
        return t_quantile(self.freedom) * math.sqrt(variance)


def changes_of(values: Floats, family: Family) -> Changes:
    calm = without_lone_runs(values)
    segments = tuple(_segments(calm, 0, family))
    fits = [np.linspace(each.begins, each.ends, each.end - each.first) for each in segments]
    rest = calm - np.concatenate(fits)
    fitted = 2 * len(segments) - 1 + sum(each.begins != each.ends for each in segments)
    noise = family.moderated(rest[None], np.array([float(len(calm))]), fitted)
    variance, inflation, freedom = (float(each[0]) for each in noise)
    return Changes(segments, variance * inflation, freedom)


def _segments(values: Floats, first: int, family: Family) -> Iterator[Segment]:
    """The segments of values of which the first is that of run ``first``."""
    split = 0
    if len(values) >= FEWEST:
        apart = energies(values)
        if _drifts(values, int(apart[:, -1].argmax()), family):
            line = values - without_line(values)
            yield Segment(first, first + len(values), float(line[0]), float(line[-1]))
            return
        split = _split(values, apart, family)
    if split:
        yield from _segments(values[:split], first, family)
        yield from _segments(values[split:], first + split, family)
    else:
        level = float(values.mean())
        yield Segment(first, first + len(values), level, level)


def _level(runs: Floats, family: Family) -> Floats:
    return family.alpha / (family.count * runs**2 * (runs - 1))


def _are_sure(ts: Floats, freedom: Floats, levels: Floats) -> Marks:
    """Which t, or one farther from 0, has at most the probability of its level."""
    found = []
    for t, free, level in zip(ts.tolist(), freedom.tolist(), levels.tolist(), strict=True):
        # the tails of a normal distribution are smaller, and soon known
        found.append(math.erfc(t / math.sqrt(2)) <= level and 2 * tail(t, free) <= level)
    return np.array(found)


def _drifts(values: Floats, split: int, family: Family) -> bool:
    line, step = without_line(values), without_step(values, split)
    if float(line @ line) > float(step @ step):
        return False
    count: Floats = np.array([float(len(values))])
    variance, inflation, freedom = family.moderated(line[None], count)
    place = places(len(values))
    t = abs(place @ values) / np.sqrt(variance * inflation * (place @ place))
    return bool(_are_sure(t, freedom, _level(count, family))[0])


def _split(values: Floats, apart: Floats, family: Family) -> int:
    """The split that is farthest apart, by ``energies``, of those that are sure; 0 without any."""
    ends = np.arange(FEWEST, len(values) + 1)
    splits = apart[:, ends].argmax(axis=0)
    sums = np.cumsum([0.0, *values])
    before, after = sums[splits] / splits, (sums[ends] - sums[splits]) / (ends - splits)
    run, split, end = np.arange(len(values)), splits[:, None], ends[:, None]
    rests = values - np.where(run < split, before[:, None], after[:, None])
    counts = ends.astype(np.float64)
    variances, inflation, freedom = family.moderated(np.where(run < end, rests, 0.0), counts)
    errors = np.sqrt(variances * inflation * (1 / splits + 1 / (ends - splits)))
    is_sure = _are_sure(np.abs(after - before) / errors, freedom, _level(counts, family))
    by_energy = np.argsort(-apart[splits, ends])
    for index in by_energy[is_sure[by_energy]]:
        place = int(splits[index])
        deviation = math.sqrt(variances[index])
        if _is_no_chance(values[: int(ends[index])], place, deviation, family):
            return place
    return 0


def _is_no_chance(values: Floats, split: int, deviation: float, family: Family) -> bool:
    """Whether the runs on the shorter side of a split cannot all be outliers of the other side.

    That j of m runs are as far off as the j-th of them has at most the chance C(m, j) q^j, where q
    is the share of all runs of the family that are so far off. Any j may tell it: most of the level
    is for all of them, the rest for fewer.
    """
    shorter, longer = sorted((values[:split], values[split:]), key=len)
    way = np.sign(shorter.mean() - longer.mean())
    farthest = np.sort((shorter - longer.mean()) * way)[::-1] / deviation
    count = len(shorter)
    shares = np.log(family.share_beyond(farthest))
    chance = math.inf
    for beyond, share in enumerate(shares.tolist(), 1):
        part = FOR_ALL if beyond == count else (1 - FOR_ALL) / (count - 1)
        choices = math.log(math.comb(count, beyond))
        chance = min(chance, choices + beyond * share - math.log(part))
    level = family.alpha / (family.count * len(values) * (len(values) - 1))
    return chance <= math.log(level)
