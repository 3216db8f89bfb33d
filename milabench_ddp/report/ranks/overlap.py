"""What the backward pass hides of DDP's communication, and what that costs it."""

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, Marks, np
from ...results import rank
from ..statistics.batch_means import t_quantile
from ..statistics.values import NAN, median

DOUBT = 0.2
ROUNDS = 5  # a longer pass hides more, which makes it longer by a part of that


class TimedBucket(Struct, frozen=True):
    """A bucket of gradients that DDP reduces at once."""

    bytes: float
    ready: float  # when a rank has its gradients, as a share of its backward pass
    ms: float = NAN  # how long it is reduced; NaN if it is not known


class Overlap(Struct, frozen=True):
    """The communication beside the backward passes of ranks."""

    buckets: tuple[TimedBucket, ...]
    backward: Floats  # the mean of each rank, in ms
    hidden: Floats  # what that of each rank hides, in ms
    rate: float  # ms by which a pass is longer for each ms that it hides
    error: float  # half of the 95 % interval of the rate
    doubt: float = 0.0  # a share of what would be exposed besides: when buckets are ready shifts

    @property
    def whole(self) -> float:
        return math.fsum(bucket.ms for bucket in self.buckets)

    def longer(self, hidden: float) -> Floats:
        return self.rate * (hidden - self.hidden)

    def without(self, is_slow: Marks) -> tuple[Floats, float]:
        """By how many ms each pass, and what is exposed, would be longer without slow ranks.

        The others would hide as much as the slow one, or as their shorter passes can.
        """
        hidden = float(self.hidden.max())
        for _ in range(ROUNDS):
            longer = self.longer(hidden)
            exposed = self._exposed(float((self.backward + longer)[~is_slow].max()))
            hidden = min(hidden, self.whole - exposed)
        more = exposed - self._exposed(float(self.backward.max()))
        return longer, more * (1 + self.doubt)

    def slower(self) -> "Overlap":
        """What communication may cost at the other end of the interval."""
        return replace(self, rate=self.rate + self.error, doubt=DOUBT)

    def _exposed(self, backward: float) -> float:
        """What a pass of so many ms leaves exposed, as in ``report.prediction.model``."""
        end = 0.0
        for bucket in self.buckets:
            end = max(end, bucket.ready * backward) + bucket.ms
        return end - backward


def overlap_of(ranks: Sequence[rank.Rank], backward: Floats) -> Overlap | None:
    """The overlap, if all ranks tell what they hide and how much that slows them.

    A rank that waits for slower ones hides less than they do, so its pass is slowed less. The rate
    is that of all ranks, by least squares.

    Args:
        ranks: of a launch, at least two.
        backward: ms of the pass of each rank, in each step.
    """
    means = backward.mean(axis=1)
    hidden = np.array([one.hidden_ms for one in ranks])
    slowed = means * (1 - 1 / np.array([one.overlap_slowdown for one in ranks]))
    buckets = buckets_of([one.buckets for one in ranks])
    squares = float(hidden @ hidden)
    if not buckets or not math.isfinite(squares + float(slowed.sum())) or not squares > 0:
        return None
    found = float(hidden @ slowed) / squares
    misfit = slowed - found * hidden
    freedom = len(ranks) - 1
    error = t_quantile(freedom) * math.sqrt(float(misfit @ misfit) / freedom / squares)
    return Overlap(buckets, means, hidden, max(found, 0.0), error)


def buckets_of(told: Sequence[Sequence[rank.Bucket]]) -> tuple[TimedBucket, ...]:
    """The buckets by what the ranks told, as medians over them; none where they differ."""
    if len({len(buckets) for buckets in told}) > 1:
        return ()
    found = []
    for same in zip(*told, strict=True):
        size, ready = median(each.bytes for each in same), median(each.ready_ms for each in same)
        if math.isnan(size + ready):
            return ()
        found.append(TimedBucket(size, ready, median(each.ms for each in same)))
    last = max((bucket.ready for bucket in found), default=0.0)
    if not last > 0:
        return ()
    return tuple(replace(each, ready=each.ready / last) for each in found)
