"""The session of a program: its device, its ranks, its metrics and its end, around its loop."""

import math
import os
import select
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import torch

from benchmarks.common import collector, stacks
from benchmarks.common.clocks import clock_of
from benchmarks.common.collector import Collections
from benchmarks.common.device import check_build, peak_memory, reset_peak_memory, told
from benchmarks.common.failure import reported
from benchmarks.common.group import SETUP_TIMEOUT, STEP_TIMEOUT, Group
from benchmarks.common.instrument_cost import FEWEST_PAIRS, MOST_PAIRS
from benchmarks.common.marks import Waits
from benchmarks.common.memory_phases import MemoryPhases
from benchmarks.common.metrics import Emitter
from benchmarks.common.plant import Plants
from benchmarks.common.rank_summary import RankSummary
from benchmarks.common.startup import Startup, deadline, launch_age
from benchmarks.common.timing import INTERVAL, Losses, StepTimer

# Steps of warm-up whose second half tells how long a step takes: not the first two, which compile,
# allocate, rebuild DDP's buckets or record CUDA graphs.
TIMED_WARMUP = 6
SHORTEST_WARMUP = 3  # steps, of which one tells how long a step takes
SHARE_OF_REST = 0.5  # of the time until the deadline, for steps; they may become slower
SHARE_OF_WARMUP = 0.25  # of this share, for the warm-up
TIME_OF_WARMUP = 0.1  # of the seconds, at least: under a quota, steps come in bursts
FEWEST = 5  # measured steps, whatever the time is
FOR_COST = 0.01, 2 * FEWEST_PAIRS, 2 * MOST_PAIRS  # steps that tell what the marks cost
MOST_SPARE = 0.1  # of the time since the program began, for steps after the measured ones

Batch = TypeVar("Batch")


class Session:
    """A running program, from its options to its end; made by ``session``."""

    def __init__(self, group: Group, emitter: Emitter, startup: Startup | None = None) -> None:
        self.group = group
        self._startup = startup or Startup()
        self._emitter = emitter
        self._timer: StepTimer | None = None
        self._loop: dict[str, Any] = {}  # facts of the measured loop, once it has begun
        self.waits: Waits | None = None  # those of the measured loop
        self._memory = MemoryPhases(group.device)
        self._memory_first_step: list[float] | None = None
        self._collections: Collections | None = None  # once the measured steps begin
        self._memory_peak: list[float] | None = None  # until the measured steps have ended
        self.failure: Exception | None = None
        self.plants = Plants()

    @property
    def device(self) -> torch.device:
        return self.group.device

    def steps(
        self,
        batches: Iterable[Batch],
        *,
        work: float,
        units: str,
        count: int,
        warmup: int,
        seconds: float | None = None,
        interval: float = INTERVAL,
        replicas: int | None = None,
        parts: Sequence[str] = ("body",),
        waits: Waits | None = None,
        losses: Losses | None = None,
        few_tell_cost: bool = False,
    ) -> Iterator[Batch]:
        """Time the body of a ``for`` over this: ``warmup`` steps, then ``count`` measured ones.

        With ``seconds`` there are as many measured steps as take so long on the slowest rank, but
        ``count`` at least, by a warm-up of at least ``TIMED_WARMUP`` steps and a tenth of the time.
        There are fewer, but ``FEWEST`` measured ones, where so many would not end before the
        deadline. All ranks have the same number.

        ``work`` is the work of one replica in one step, in ``units``; ``replicas`` is the number of
        replicas that see different data, by default all ranks. Ranks that train together step
        together, so the rate that rank 0 reports is the work of all ranks over its own step time.
        ``parts``, ``waits`` and ``losses`` are as for ``StepTimer``. With ``few_tell_cost``, what
        the marks cost is told also after few steps, if more of them take little time.
        """
        replicas = self.group.world_size if replicas is None else replicas
        self.waits = waits
        self._startup.done("build")
        self._memory.built(parts[:-1])
        self.group.limit(SETUP_TIMEOUT)  # also the groups that a strategy has made
        self._timer = StepTimer(
            clock_of(self.device),
            self._emitter,
            work=work * replicas,
            units=units,
            parts=parts,
            waits=waits,
            losses=losses,
            interval=interval,
            settled=self._settled,
            around=self._measured,
            spare=partial(self.spare_steps, *FOR_COST) if few_tell_cost else int,
        )
        if seconds is None and warmup < SHORTEST_WARMUP:  # it does not tell how long a step takes
            timed = self._timer.steps(batches, count, warmup)
            return self.plants.steps(timed, self.device)
        warmup = max(warmup, SHORTEST_WARMUP if seconds is None else TIMED_WARMUP)
        measured = partial(self._measured_steps, count, seconds)
        timed = self._timer.steps(batches, measured, partial(self._warmup_steps, warmup, seconds))
        return self.plants.steps(timed, self.device)

    def lap(self) -> None:
        """Mark the end of a part of the step, if it has several."""
        assert self._timer is not None
        self._timer.lap()
        self._memory.lap()

    def log_loss(self, loss: torch.Tensor) -> None:
        """Report this loss together with the time of its step, without waiting for it now."""
        if self._timer is not None:
            self._timer.log_loss(self.plants.loss(loss))

    @property
    def mean_ms(self) -> float:
        assert self._timer is not None
        return fmean(self._timer.ms)

    @property
    def first_step_s(self) -> float:
        assert self._timer is not None
        return (self._timer.warmup_ms or self._timer.ms)[0] / 1e3

    def spare_steps(self, share: float, least: int, most: int) -> int:
        """How many more steps may follow the measured ones; 0 if there is too little time for them.

        They take at most ``share`` of the time that this program has taken, or are the ``least``,
        which take at most ``MOST_SPARE`` of it, and a quarter of the time that it may still take.
        It is the same on all ranks.
        """
        age, step = launch_age(), max(self.mean_ms / 1e3, 1e-6)
        count = min(max(share * age / step, least), most)
        if count * step > min(MOST_SPARE * age, (deadline() - age) / 4):
            count = 0
        return int(-self.group.largest(-count))

    def fitting(
        self,
        least: int,
        step_ms: float,
        seconds: float | None = None,
        share: float = 1.0,
        fewest: int = FEWEST,
    ) -> int:
        """How many steps of ``step_ms`` take ``seconds``, but at least ``least``.

        There are fewer, but ``fewest``, if so many would not end in this ``share`` of the time that
        is left. The slowest rank, and the one that began first, decide for all, which wait here.
        """
        slowest = max(self.group.largest(step_ms), 1e-6)
        left = -self.group.largest(launch_age() - deadline())
        asked = max(math.ceil(1e3 * (seconds or 0.0) / slowest), least)
        in_time = 1e3 * SHARE_OF_REST * share * left / slowest
        return int(min(asked, max(in_time, fewest)))

    def report(self, **metrics: Any) -> None:
        self._emitter.data("main", **metrics)

    def fail_at_end(self, error: Exception) -> None:
        """Raise ``error`` at the end, after everything has been reported."""
        self.failure = error

    def flush(self) -> None:
        """After a failure, report this rank's measurements; the other ranks may be gone."""
        if self._timer is not None:
            self._timer.flush()
            self._report_loop(self._timer)
            self._summary(self._timer).report(self._emitter)

    def finish(self) -> None:
        """Report from rank 0 the step times and the peak memory of every rank."""
        if self._timer is not None:
            self._report_loop(self._timer)
            for summary in self.group.gather(self._summary(self._timer)):
                summary.report(self._emitter)

    def _settled(self) -> None:
        self._startup.compiled()
        self._memory_first_step = peak_memory(self.device)
        reset_peak_memory(self.device)
        self._memory.watch()

    def _warmup_steps(self, least: int, seconds: float | None, step_ms: float) -> int:
        part = seconds and TIME_OF_WARMUP * seconds
        return self.fitting(least, step_ms, part, SHARE_OF_WARMUP, fewest=SHORTEST_WARMUP)

    def _measured_steps(self, least: int, seconds: float | None, step_ms: float) -> int:
        count = self.fitting(least, step_ms, seconds)
        if seconds is not None:
            self._loop = {"seconds": seconds, "warmup_step_ms": round(step_ms, 4)}
        if count < least:
            self._loop |= {"warmup_step_ms": round(step_ms, 4), "asked_steps": least}
        return count

    @contextmanager
    def _measured(self) -> Iterator[None]:
        timer = self._timer
        assert timer is not None
        self._collections = Collections(lambda: timer.step)
        with collector.frozen(self._collections):
            self._loop["gc"] = "frozen"
            start_barrier(self._emitter)
            self.group.limit(STEP_TIMEOUT)
            with self._memory.measured():
                yield
            self._memory_peak = self._memory.largest(peak_memory(self.device))
            self._collections.try_frozen(math.fsum(timer.ms))

    def _summary(self, timer: StepTimer) -> RankSummary:
        return RankSummary(
            self.group.rank,
            timer.first,
            timer.ms,
            timer.wait_ms,
            timer.part_ms if len(timer.part_ms) > 1 else {},
            self._memory_peak or peak_memory(self.device),
            self._memory_first_step,
            timer.step_fractions(),
            timer.part_spread(),
            timer.device_idle(),
            timer.instrument_cost,
            self._collections.told(timer.first, len(timer.ms)) if self._collections else {},
            os.environ.get("MILABENCH_NODE", ""),
            self._startup.seconds(self.first_step_s if timer.warmup_ms or timer.ms else None),
            self._memory.told,
        )

    def _report_loop(self, timer: StepTimer) -> None:
        if self.group.rank == 0 and self._loop:
            self.report(loop={"steps": len(timer.ms), **self._loop})


@contextmanager
def session(kind: str | None, *, distributed: bool = False) -> Iterator[Session]:
    """Run the block on a device of ``kind``, in torchrun's process group if ``distributed``.

    At the end the metrics of all ranks are reported. After an exception, first the measurements so
    far are reported, then the error with its rank. The process group then ends with the process:
    closing it properly would wait for ranks that may hang.
    """
    startup = Startup()
    stacks.show_on_signal()
    emitter = Emitter.from_environment()
    with reported(emitter):
        check_build()
        group = Group.join(kind, startup.done) if distributed else Group.alone(kind)
        emitter.data("main", device=told(group.device))
        running = Session(group, emitter, startup)
        running.plants.tell(emitter)
        try:
            yield running
        except BaseException as error:
            stacks.show_failure(error)
            running.flush()
            raise
        running.finish()
        group.leave()
        if running.failure is not None:
            raise running.failure


def start_barrier(emitter: Emitter) -> None:
    """Send ``ready``, wait until all processes of the launch are ready, send ``begin``.

    The supervisor opens the FIFO ``MILABENCH_START`` for writing, and closes it when all are ready.
    Without the variable there is no supervisor, and this returns at once.
    """
    path = os.environ.get("MILABENCH_START")
    if not path:
        return
    # Opened before ``ready`` is sent: a supervisor that opens and closes at once is not missed.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        emitter.event("ready")
        poll = select.poll()
        poll.register(fd, select.POLLIN)  # POLLHUP, the end, is always reported
        while not (poll.poll()[0][1] & select.POLLHUP):
            os.read(fd, select.PIPE_BUF)
        emitter.event("begin", time=time.monotonic())
    finally:
        os.close(fd)
