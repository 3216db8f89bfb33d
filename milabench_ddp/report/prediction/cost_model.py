"""The model of a step on more nodes.

    step(N) = E[max over nodes of max over k of (work before the backward pass + r_k B + tail_k(N))]
    tail_k(N) = c_k(N) + ... + c_K(N)

B is the own backward pass of a rank, r_k the share of it after which bucket k is ready, and c_k(N)
how long its all-reduce takes (see ``communication``). This is the recursion of the buckets, each of
which begins when the last rank has it and the one before it is over, solved for its end. Own work
is drawn from the measured steps of nodes (see ``noise``), scaled to the mean level of all launches,
as the work of a rank is the same on every number of nodes. Where buckets are not known, what is
exposed takes the place of a single bucket that is ready at the end: then what more nodes will
expose of the communication that is still hidden is not known.

What measured steps take beyond the model is added, as their mean.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, np
from ..ranks.overlap import TimedBucket
from ..statistics.batch_means import mean_error
from ..statistics.values import mean, median
from .communication import Cost, Fits, Spread
from .messages import Message, merged
from .node_noise import OwnWork, nodes_of, own_work, resampled
from .points import LaunchWork, Points

MOST_LEVEL = 2.0  # of the logarithm of a redrawn level
SIZES = 4.0  # all-reduces that are so many times smaller or larger than any bucket do not count


class Draw(Struct, frozen=True):
    """What a step is made of: as measured, or redrawn."""

    own: OwnWork
    cost: Cost | None  # None: no communication between nodes was measured
    level: float = 1.0  # a factor of own work
    rest: float = 0.0  # ms that measured steps take beyond the model
    seed: int | None = None  # of the nodes that were not measured; None: as one expects them


class StepModel:
    """A step by the number of nodes, or ranks, from measured points."""

    def __init__(self, points: Points, spread: Spread | None = None) -> None:
        """Fit the model to at least one point.

        Args:
            spread: by how much launches vary, where that is known from more points than these.
        """
        self.points = points
        several = [launch.slowdown for launch in points.launches if launch.ranks > 1]
        self._slowdown = max(1.0, median(several))  # 1 where it is not known, too
        self._of_count = list(self._beside_communication())
        self.launches = [launch for _, launch in self._of_count]
        self.buckets = _mean_buckets([one.buckets for one in self.launches if one.ranks > 1])
        self.nodes = nodes_of(self.launches, points.each)
        levels = [self.nodes.level(launch, points.each) for launch in self.launches]
        self.spread = spread or _spread(levels, self.launches[0])
        messages = list(self._messages())
        if not messages:  # the buckets are known, but not how long they take
            self.buckets = ()
            messages = list(self._messages())
        may_hide = not self.buckets
        self.messages = merged(messages)
        self.fits = (
            Fits(self.messages, points.each, self.spread, may_hide=may_hide) if messages else None
        )
        self.own_ms = mean(levels)
        own = own_work(self.launches, points.each, self.own_ms, self.nodes)
        self.draw = Draw(own, self.fits.best if self.fits else None)
        self._rests = [
            one.step - self._like(count, one) for count, one in self._of_count if count > 1
        ]
        self.draw = replace(self.draw, rest=mean(self._rests) if self._rests else 0.0)

    @property
    def source(self) -> str:
        if not self.buckets:
            return "what is exposed of it"
        if self.is_timed:
            return f"{len(self.buckets)} buckets"
        return f"{len(self.buckets)} buckets, and all-reduces of the same runs"

    @property
    def is_timed(self) -> bool:
        return any(not math.isnan(bucket.ms) for bucket in self.buckets)

    def _beside_communication(self) -> Iterator[tuple[int, LaunchWork]]:
        for point in self.points.points:
            for launch in point.launches:
                slowdown = self._slowdown if launch.ranks == 1 else 1.0
                yield point.count, replace(launch, backward=launch.backward * slowdown)

    def redrawn(self, chance: "np.random.Generator") -> Draw:
        steps = resampled(self.launches, chance)
        own = own_work(self.launches, self.points.each, self.own_ms, self.nodes, steps)
        error = self.spread.draw(chance) * chance.standard_normal() / math.sqrt(len(self.launches))
        level = math.exp(min(max(error, -MOST_LEVEL), MOST_LEVEL))
        rest = self.draw.rest
        if len(self._rests) > 1:
            error = float(np.std(self._rests, ddof=1)) / math.sqrt(len(self._rests))
            rest += error * chance.standard_t(len(self._rests) - 1)
        cost = self.fits.redrawn(chance) if self.fits else None
        return Draw(own, cost, level, rest, int(chance.integers(1 << 32)))

    def step(self, count: int, draw: Draw | None = None) -> float:
        """The mean step in ms on so many nodes or ranks."""
        draw = draw or self.draw
        ready, tails = self._communication(count, draw.cost)
        unlike = self.nodes.unlike(count, draw.seed)
        slowest = draw.own.slowest(unlike, ready, tails, draw.level)
        return slowest + (draw.rest if count > 1 else 0.0)

    def parts(self, count: int) -> tuple[float, float, float]:
        """The ms of a step: own work, how much more that of the slowest rank is, and the rest."""
        step = self.step(count)
        if self.points.ranks(count) == 1:
            return step, 0.0, 0.0
        unlike = self.nodes.unlike(count, None)
        slowest = self.draw.own.slowest(unlike, np.ones(1), np.zeros(1))
        return self.own_ms, slowest - self.own_ms, step - slowest

    def _like(self, count: int, launch: LaunchWork) -> float:
        ready, tails = self._communication(count, self.draw.cost)
        each = self.points.each
        own = own_work([launch], each, self.nodes.level(launch, each), self.nodes)
        return own.slowest(self.nodes.of(launch, each), ready, tails)

    def _communication(self, count: int, cost: Cost | None) -> tuple[Floats, Floats]:
        """When a rank begins each communication, as in ``OwnWork.slowest``, and the tails."""
        if self.points.ranks(count) == 1:
            return np.ones(1) / self._slowdown, np.zeros(1)
        sizes = np.array([bucket.bytes for bucket in self.buckets] or [1.0])
        ms = self._alone
        if count > 1 and cost is not None:
            ms = cost.ms(count, sizes, self._alone)
        ready = np.array([bucket.ready for bucket in self.buckets] or [1.0])
        return ready, np.cumsum(ms[::-1])[::-1]

    @cached_property
    def _alone(self) -> Floats:
        """The ms of each communication among the ranks of a single node; 0 if not measured."""
        found = [self._ms_of(one) for count, one in self._of_count if count == 1 and one.ranks > 1]
        if not found:
            return np.zeros(max(len(self.buckets), 1))
        means: Floats = np.nan_to_num(np.array(found).mean(axis=0))
        return means

    def _ms_of(self, launch: LaunchWork) -> list[float]:
        if not self.buckets:
            return [float(launch.communication.mean())]
        return [bucket.ms for bucket in launch.buckets or self.buckets]

    def _messages(self) -> Iterator[Message]:
        sizes = [bucket.bytes for bucket in self.buckets] or [1.0]
        if self.buckets and not self.is_timed:
            yield from self._all_reduces(min(sizes) / SIZES, max(sizes) * SIZES)
            return
        for place, (count, launch) in enumerate(self._of_count):
            for size, ms, alone in zip(sizes, self._ms_of(launch), self._alone, strict=True):
                if count > 1 and not math.isnan(ms):
                    yield Message(place, count, size, ms, float(alone))

    def _all_reduces(self, smallest: float, largest: float) -> Iterator[Message]:
        each = self.points.each
        for ranks, size, ms in self.points.comm:
            if ranks % each == 0 and ranks > each and smallest <= size <= largest:
                yield Message(ranks, ranks // each, size, ms)


def _spread(levels: Sequence[float], first: LaunchWork) -> Spread:
    """How the own work of launches varies, as a fraction; of one launch, how its mean may."""
    if len(levels) > 1:
        return Spread(float(np.std(np.log(levels), ddof=1)), len(levels) - 1)
    error = mean_error(first.own.mean(axis=0))
    return Spread(error.sem / first.level, max(round(error.freedom), 1))


def _mean_buckets(told: Sequence[tuple[TimedBucket, ...]]) -> tuple[TimedBucket, ...]:
    """The buckets over launches; none if launches differ in their number."""
    if not told or len({len(buckets) for buckets in told}) > 1:
        return ()
    found = []
    for same in zip(*told, strict=True):
        ready, ms = mean(each.ready for each in same), mean(each.ms for each in same)
        found.append(TimedBucket(same[0].bytes, ready, ms))
    return tuple(found)
