"""How much of DDP's communication the backward pass hides, and by how much that slows it down.

The measured steps tell own work and what is exposed. A few more steps after them tell the rest, so
that no measured step has a communication hook of ours. They leave the parameters as they are. Pairs
of steps, one as measured and one that leaves the gradients on the rank (``no_sync``), tell the
slowdown. Then steps with a hook tell when each bucket is ready on this rank, and when reduced.

Buckets are reduced one after the other. So a rank sees the all-reduce of bucket k for

    reduced_k - max(ready_k, reduced_(k-1))

in which it may wait for slower ranks. The rank that comes last does not: the least of all ranks is
what the all-reduce takes, and no common clock is needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy

from benchmarks.common.marks import Waits
from benchmarks.common.session import Session
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.bucket_marks import BucketMarks, Pass
from benchmarks.common.workload import Batch

SHARE = 0.02  # of the time since the program began
LEAST, MOST = 4, 10  # steps
PAIRS = 3  # if all steps are taken: a median needs three
LINE = 40  # buckets in a line, which has at most 4096 bytes


@dataclass(frozen=True)
class Passes:
    """The watched backward passes of a rank; times in ms since the beginning of each."""

    sizes: Sequence[int]  # bytes of each bucket, in the order in which they are reduced
    ready: Sequence[Sequence[float]]  # for each pass, when each bucket is
    reduced: Sequence[Sequence[float]]
    slowdown: float | None  # own work with communication beside it, over that without


def measure(run: Session, strategy: Strategy, batches: Iterator[Batch]) -> None:
    """Under DDP, watch a few more steps, and report the buckets of all ranks from rank 0."""
    if strategy.buckets is None or run.waits is None:
        return
    steps = run.spare_steps(SHARE, LEAST, MOST)
    if not steps:
        why = f"{LEAST} more steps would have made the run too long"
        if run.group.rank == 0:
            run.report(buckets_unknown=why)
        return
    extra = _ExtraSteps(strategy, strategy.buckets, run.waits, batches)
    pairs = PAIRS if steps == MOST else 0
    slowdown = extra.slowdown(pairs) if pairs else None
    found = run.group.gather(extra.passes(steps - 2 * pairs, slowdown))
    for rank, lines in enumerate(told(found)):
        for line in lines:
            run.report(rank=rank, **line)


def told(found: Sequence[Passes]) -> Iterator[list[dict[str, Any]]]:
    """For each rank the lines that tell its buckets, with the medians of their times in ms."""
    if not found:
        return
    ready = numpy.array([rank.ready for rank in found])
    ms, hidden = bucket_ms(ready, numpy.array([rank.reduced for rank in found]))
    typical = numpy.median(ms, axis=0)
    for rank, its_ready, its_hidden in zip(found, ready, hidden, strict=True):
        columns = zip(
            rank.sizes,
            numpy.median(its_ready, axis=0),
            typical,
            numpy.median(its_hidden, axis=0),
            strict=True,
        )
        buckets = []
        for size, *times in columns:
            at, takes, hides = (round(float(each), 4) for each in times)
            buckets.append({"bytes": size, "ready_ms": at, "ms": takes, "hidden_ms": hides})
        lines: list[dict[str, Any]] = []
        for first in range(0, len(buckets), LINE):
            lines.append({"buckets": buckets[first : first + LINE], "first_bucket": first})
        lines[0]["overlap_slowdown"] = rank.slowdown and round(rank.slowdown, 4)
        whole = sum(bucket["hidden_ms"] for bucket in buckets)
        lines[0]["hidden_communication_ms"] = round(whole, 4)
        yield lines


def bucket_ms(ready: numpy.ndarray, reduced: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """How long the all-reduce of each bucket takes, and how much of that each rank hides, in ms.

    Args:
        ready: when it can begin on each rank, in each of its passes: (ranks, passes, buckets).
        reduced: when it has ended, of the same shape.

    Returns:
        (passes, buckets), and (ranks, passes, buckets).
    """
    ended = numpy.maximum.accumulate(reduced, axis=2)  # gloo reduces two at a time
    before = numpy.concatenate([ready[:, :, :1], ended[:, :, :-1]], axis=2)
    ms = (ended - numpy.maximum(ready, before)).min(axis=0)
    own_work_ends = ready[:, :, -1:]
    hidden = numpy.minimum(ended, own_work_ends) - (ended - ms)
    return ms, hidden.clip(min=0.0)


class _ExtraSteps:
    """Steps that are watched, and that leave the parameters as they are."""

    def __init__(
        self, strategy: Strategy, marks: BucketMarks, waits: Waits, batches: Iterator[Batch]
    ) -> None:
        self._strategy, self._marks, self._batches = strategy, marks, batches
        self._waits, self._clock = waits, waits.clock

    def slowdown(self, pairs: int) -> float:
        """Own work of a pass with communication beside it over that without, the median of pairs.

        The steps of a pair follow each other, in either order, so that a drift cancels out.
        """
        seen: list[dict[bool, tuple[Any, Any]]] = []
        for pair in range(pairs):
            both = {}
            for synced in (pair % 2 == 1, pair % 2 == 0):
                begin = self._step(synced=synced).begin
                both[synced] = begin, self._waits.last()
            seen.append(both)
        self._done()
        ms = self._clock.milliseconds
        return median(ms(*both[True]) / max(ms(*both[False]), 1e-6) for both in seen)

    def passes(self, count: int, slowdown: float | None) -> Passes:
        """Passes with a communication hook, but for the first, in which the hook is new."""
        seen = [self._step(buckets=True) for _ in range(count)][1:]
        self._done()
        ms = self._clock.milliseconds
        return Passes(
            [bucket.bytes for bucket in seen[0].buckets],
            [[ms(one.begin, bucket.ready) for bucket in one.buckets] for one in seen],
            [[ms(one.begin, bucket.reduced) for bucket in one.buckets] for one in seen],
            slowdown,
        )

    def _step(self, *, synced: bool = True, buckets: bool = False) -> Pass:
        between = nullcontext() if synced else self._marks.model.no_sync()
        with between, self._marks.watched(self._clock, buckets=buckets) as seen:
            self._strategy.forward_backward(next(self._batches))
        self._strategy.model.zero_grad()
        return seen

    def _done(self) -> None:
        self._clock.wait(self._clock.mark())
