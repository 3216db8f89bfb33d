"""Times the steps of a loop without slowing them down.

A step is the time between two marks: the wait for its batch, then the body of the loop. Nothing is
synchronised, sent or computed between them; a mark is read after its step, when the device has
passed it. Consecutive short steps form one observation of at least ``interval`` seconds, so that
reporting costs next to nothing; a longer step is an observation of its own.

The body may have parts, such as forward and backward: it calls ``lap`` between them. Their marks
are queued with the work, too, so parts do not overlap; with the wait for data they are the step.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from itertools import islice
from math import isnan
from statistics import fmean
from typing import Any, TypeVar

import torch

from benchmarks.common.clocks import NO_CLOCK, Clock, HeadStart
from benchmarks.common.instrument_cost import Cost, blocks, cost
from benchmarks.common.marks import Observation, Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.step_times import StepTimes

INTERVAL = 0.05  # seconds
STEPS_FOR_ONE = 100  # for one more after them, which tells what the marks cost
UNCOUNTED = sys.maxsize  # marks of a step that is in no rate
RUN_AHEAD = 8  # observations that the host may queue before it waits for the oldest

Batch = TypeVar("Batch")
Number = int | Callable[[float], int]  # of steps, or how it follows from the ms of a step


class Losses(Enum):
    """The losses that a rank reports."""

    ALL = "all"
    KNOWN = "all but NaN, which ranks of a pipeline that do not have the loss log instead"
    NONE = "none"


class StepTimer(StepTimes):
    """Times the steps of one loop, and reports each observation of their rate once it is known.

    ``work`` is that of one step in ``units`` (without the "/s"), under DDP of all ranks. Steps are
    numbered from 0, warm-up first.
    """

    def __init__(
        self,
        clock: Clock,
        emitter: Emitter,
        *,
        work: float,
        units: str,
        task: str = "train",
        parts: Sequence[str] = ("body",),
        waits: Waits | None = None,
        losses: Losses | None = None,
        interval: float = INTERVAL,
        settled: Callable[[], None] = lambda: None,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
        spare: Callable[[], int] = int,
        now: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """Time steps by ``clock``; only rank 0's rates are reported.

        ``settled`` is called when the device has done the first of two or more steps of warm-up.
        The last step of the warm-up and the measured ones run in the context of ``around``. So do
        as many steps after them as ``spare`` says then, or a hundredth as many, if there are enough
        to tell what the marks cost.
        ``parts`` names the parts of the body, which calls ``lap`` after each but the last. Waits
        that ``waits`` marks within them are a part of their own, ``EXPOSED``.
        ``losses``: None means all on rank 0 and none on the others. ``interval`` is in seconds of
        ``now``, the host's clock in nanoseconds.
        """
        super().__init__(parts, waits)
        self.first = 0  # index of the first measured step
        self.instrument_cost: Cost | None = None  # None: not known
        self._clock, self._emitter = clock, emitter
        self._settled, self._around, self._spare = settled, around, spare
        self._work, self._units, self._task = work, units, task
        self._interval, self._now = round(interval * 1e9), now
        self._marks_are_time = clock.mark == now  # the host's: one reading serves as both
        self._stride = 1 + len(parts)
        self._losses = losses or (Losses.ALL if emitter.rank == 0 else Losses.NONE)
        self._open = self._opened(Observation(0, True, [], self._stride))
        self._pending: deque[Observation] = deque()  # not yet reported
        self._kept: list[Observation] = []  # reported, not yet counted
        self._loss: torch.Tensor | None = None
        self._is_ahead = False  # the device is held while the host queues the step
        self._ahead_ms = 0.0  # the time of such a step on the device; 0 if there was none
        self._origin = 0  # when the phase began, in nanoseconds of ``now``

    def steps(self, batches: Iterable[Batch], count: Number, warmup: Number) -> Iterator[Batch]:
        """Yield ``warmup`` batches, then ``count`` measured ones, or fewer if the batches run out.

        The body of the caller's ``for`` is the step. A number may depend on the ms of a step: a
        ``warmup``, of three at least, on the second, and a ``count`` on the second half of the
        warm-up but its last step (0 without such), which fills the device's empty queue again.
        """
        iterator = iter(batches)
        first = int(callable(warmup) or warmup > 1)
        if first:
            yield from self._warm_up(islice(iterator, 1), 0)
            self._settled()
        if callable(warmup):
            yield from self._warm_up(islice(iterator, 1), 1)
            first, warmup = 2, warmup(sum(self.warmup_ms[1:]))
        last = max(warmup - 1, 0)
        ahead = int(self._clock.can_hold and last > 2)
        yield from self._warm_up(islice(iterator, last - first - ahead), first)
        step_ms = fmean(self.warmup_ms[len(self.warmup_ms) // 2 :] or [0.0])
        if ahead:
            yield from self._with_head_start(islice(iterator, 1), last - 1, step_ms)
        if callable(count):
            count = count(step_ms)
        with self._around():
            self.first = warmup
            yield from self._phase(islice(iterator, warmup - last), last, warmup=True)
            yield from self._phase(islice(iterator, count), warmup, warmup=False)
            self._report(at_most=0)
            self._count_kept()
            if self._stride > 2 and self.ms:  # else there is nothing within a step
                steps = (len(self.ms) + len(self.warmup_ms)) // STEPS_FOR_ONE
                yield from self._with_and_without_marks(iterator, max(steps, self._spare()))

    def lap(self) -> None:
        """Mark the end of a part of the body, and the beginning of the next."""
        self._open.marks.append(self._clock.mark())

    def log_loss(self, loss: torch.Tensor) -> None:
        """Report this loss, later and without a wait, if the current step ends an observation."""
        self._loss = loss

    @property
    def step(self) -> int:
        return self._open.first + self._open.steps

    def device_idle(self) -> float | None:
        """The fraction of a measured step in which the device waits for its host or for data.

        It is 1 - a / s, with the mean step s, and the time a of a step of the warm-up which the
        host had queued before the device began it: what a step would take if the host were never
        late; None if not known, as of a CPU. CUDA queues about 1000 kernels: of more in a part of
        the step, it can be too small.
        """
        if not self._ahead_ms or not self.ms:
            return None
        return round(max(1 - self._ahead_ms / fmean(self.ms), 0.0), 4)

    def flush(self) -> None:
        """After a failure, report the steps whose times are known, without waiting for others."""
        try:
            if self._open.steps:
                self._close()
            self._report(at_most=len(self._pending))
            self._count_kept()
        except RuntimeError:  # a device that has faulted makes no events and reads none
            self._pending.clear()

    def _warm_up(self, batches: Iterator[Batch], first: int) -> Iterator[Batch]:
        yield from self._phase(batches, first, warmup=True)
        self._report(at_most=0)
        self._count_kept()

    def _with_head_start(
        self, batches: Iterator[Batch], first: int, step_ms: float
    ) -> Iterator[Batch]:
        timed, clock = len(self.warmup_ms), self._clock
        self._clock, self._is_ahead = HeadStart(clock, step_ms), True
        yield from self._warm_up(batches, first)
        self._clock, self._is_ahead = clock, False
        self._ahead_ms = sum(self.warmup_ms[timed:])
        del self.warmup_ms[timed:]

    def _with_and_without_marks(self, batches: Iterator[Batch], steps: int) -> Iterator[Batch]:
        clock, ends = self._clock, []
        length, marked = blocks(steps)
        for has_marks in marked:
            self._clock = clock if has_marks else NO_CLOCK
            if self._waits is not None:
                self._waits.switch(on=has_marks)
            seen = self._open = self._opened(Observation(0, True, [], UNCOUNTED))
            begin, left = clock.mark(), length
            for batch in islice(batches, length):
                self.lap()
                yield batch
                self.lap()
                left -= 1
            if left:  # the batches have run out
                break
            ends.append((begin, clock.mark()))
            if has_marks:  # nothing reads them
                clock.recycle(seen.marks)
                self._recycle_waits(seen)
        self._clock = clock
        if self._waits is not None:
            self._waits.switch(on=True)
        if ends and len(ends) == len(marked):
            clock.wait(ends[-1][1])
            self.instrument_cost = cost(marked, [clock.milliseconds(*each) for each in ends])

    def _phase(self, batches: Iterator[Batch], first: int, *, warmup: bool) -> Iterator[Batch]:
        mark, now, interval = self._clock.mark, self._now, self._interval
        marks_are_time = self._marks_are_time
        self._origin = now()
        self._open = self._opened(Observation(first, warmup, [mark()], self._stride))
        append = self._open.marks.append
        due = now() + interval
        for batch in batches:
            append(mark())
            yield batch
            end = mark()
            append(end)
            if (end if marks_are_time else now()) >= due:
                self._close()
                self._report(at_most=RUN_AHEAD)
                append = self._open.marks.append
                append(mark())
                due = now() + interval
        if self._open.steps:
            self._close()

    def _close(self) -> None:
        done = self._open
        done.cut()
        if self._loss is not None:
            done.loss, self._loss = self._clock.fetch(self._loss), None
        done.known = self._clock.mark()
        self._pending.append(done)
        following = Observation(done.first + done.steps, done.warmup, [], self._stride)
        self._open = self._opened(following)

    def _opened(self, observation: Observation) -> Observation:
        if self._waits is not None:
            self._waits.open(observation)
        return observation

    def _report(self, at_most: int) -> None:
        """Report known observations; wait for the oldest if more than ``at_most`` are pending."""
        while self._pending:
            oldest = self._pending[0]
            if len(self._pending) > at_most:
                self._clock.wait(oldest.known)
            elif not self._clock.happened(oldest.known):
                return
            self._report_one(self._pending.popleft())

    def _report_one(self, seen: Observation) -> None:
        marks = seen.marks
        # A device's events tick in half microseconds: an empty step can take none.
        seconds = max(self._clock.milliseconds(marks[0], marks[-1]), 1e-6) / 1e3
        if not self._is_ahead:
            self._emit(seen, seconds)
        if self._marks_are_time:
            self._kept.append(seen)  # counting it now would delay the next step
        else:
            self.count(seen, self._clock)
            self._clock.recycle([*marks, seen.known])
            self._recycle_waits(seen)

    def _recycle_waits(self, seen: Observation) -> None:
        if self._waits is not None:
            self._waits.recycle(seen)

    def _count_kept(self) -> None:
        for seen in self._kept:
            self.count(seen, self._clock)
        self._kept.clear()

    def _emit(self, seen: Observation, seconds: float) -> None:
        last = seen.first + seen.steps - 1
        more = {"warmup": True} if seen.warmup else {}
        if self._emitter.rank == 0:
            self._emitter.rate(
                self._task,
                self._work * seen.steps / seconds,
                f"{self._units}/s",
                step=last,
                elapsed=(self._now() - self._origin) / 1e9,
                steps=seen.steps,
                **more,
            )
        if seen.loss is not None and self._losses is not Losses.NONE:
            loss = float(seen.loss)
            if self._losses is Losses.ALL or not isnan(loss):
                self._emitter.data(self._task, loss=loss, step=last, **more)
