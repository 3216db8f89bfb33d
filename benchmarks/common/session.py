"""The session of a program: its device, its ranks, its metrics and its end, around its loop."""

import os
import select
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import torch

from benchmarks.common.clocks import clock_of
from benchmarks.common.device import check_build, peak_memory
from benchmarks.common.failure import reported
from benchmarks.common.group import Group
from benchmarks.common.metrics import Emitter
from benchmarks.common.timing import INTERVAL, Losses, StepTimer

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class RankSummary:
    """The measurements of one rank, as they are sent to rank 0."""

    rank: int
    first: int  # index of the first measured step
    ms: Sequence[float]
    wait_ms: Sequence[float]
    parts: Mapping[str, Sequence[float]]  # ms in each step; empty if the body has one part
    memory_peak: list[float] | None  # allocated, reserved; MiB
    step_fractions: Mapping[str, float]  # of the wait for data and of each part of the body
    part_ms: Mapping[str, tuple[float, float]]  # mean and standard deviation
    node: str  # its name in the run; empty on one node


class Session:
    """A running program, from its options to its end; made by ``session``."""

    def __init__(self, group: Group, emitter: Emitter) -> None:
        """Measure on the group's device, and report through ``emitter``."""
        self.group = group
        self._emitter = emitter
        self._timer: StepTimer | None = None
        self.failure: Exception | None = None

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        return self.group.device

    def steps(
        self,
        batches: Iterable[Batch],
        *,
        work: float,
        units: str,
        count: int,
        warmup: int,
        interval: float = INTERVAL,
        replicas: int | None = None,
        parts: Sequence[str] = ("body",),
        losses: Losses | None = None,
    ) -> Iterator[Batch]:
        """Time the body of a ``for`` over this: ``warmup`` steps, then ``count`` measured ones.

        ``work`` is the work of one replica in one step, in ``units``; ``replicas`` is the number of
        replicas that see different data, by default all ranks. Ranks that train together step
        together, so the rate that rank 0 reports is the work of all ranks over its own step time.
        ``parts`` and ``losses`` are as for ``StepTimer``.
        """
        replicas = self.group.world_size if replicas is None else replicas
        self._timer = StepTimer(
            clock_of(self.device),
            self._emitter,
            work=work * replicas,
            units=units,
            parts=parts,
            losses=losses,
            interval=interval,
            begin=partial(start_barrier, self._emitter),
        )
        return self._timer.steps(batches, count, warmup)

    def lap(self) -> None:
        """Mark the end of a part of the step, if it has several."""
        assert self._timer is not None
        self._timer.lap()

    def log_loss(self, loss: torch.Tensor) -> None:
        """Report this loss together with the time of its step, without waiting for it now."""
        if self._timer is not None:
            self._timer.log_loss(loss)

    @property
    def mean_ms(self) -> float:
        """The mean time of this rank's measured steps, after the last of them."""
        assert self._timer is not None
        return fmean(self._timer.ms)

    @property
    def first_step_s(self) -> float:
        """The time of this rank's first step, which compiles and allocates."""
        assert self._timer is not None
        return (self._timer.warmup_ms or self._timer.ms)[0] / 1e3

    def report(self, **metrics: Any) -> None:
        """Send metrics of the whole program from this rank."""
        self._emitter.data("main", **metrics)

    def fail_at_end(self, error: Exception) -> None:
        """Raise ``error`` at the end, after everything has been reported."""
        self.failure = error

    def flush(self) -> None:
        """After a failure, report this rank's measurements; the other ranks may be gone."""
        if self._timer is not None:
            self._timer.flush()
            self._report_rank(self._summary(self._timer))

    def finish(self) -> None:
        """Report from rank 0 the step times and the peak memory of every rank."""
        if self._timer is not None:
            for summary in self.group.gather(self._summary(self._timer)):
                self._report_rank(summary)

    def _summary(self, timer: StepTimer) -> RankSummary:
        return RankSummary(
            self.group.rank,
            timer.first,
            timer.ms,
            timer.wait_ms,
            timer.part_ms if len(timer.part_ms) > 1 else {},
            peak_memory(self.device),
            timer.step_fractions(),
            timer.part_spread(),
            os.environ.get("MILABENCH_NODE", ""),
        )

    def _report_rank(self, summary: RankSummary) -> None:
        rank = summary.rank
        if summary.node:
            self._emitter.data("main", rank=rank, node=summary.node)
        if summary.step_fractions:
            self._emitter.data(
                "main", rank=rank, shares=summary.step_fractions, part_ms=summary.part_ms
            )
        self._emitter.step_times(rank, summary.first, summary.ms, summary.wait_ms, summary.parts)
        if summary.memory_peak is not None:
            self._emitter.data("main", rank=rank, memory_peak=summary.memory_peak)


@contextmanager
def session(kind: str | None, *, distributed: bool = False) -> Iterator[Session]:
    """Run the block on a device of ``kind``, in torchrun's process group if ``distributed``.

    At the end the metrics of all ranks are reported. After an exception, first the measurements so
    far are reported, then the error with its rank. The process group then ends with the process:
    closing it properly would wait for ranks that may hang.
    """
    emitter = Emitter.from_environment()
    with reported(emitter):
        check_build()
        group = Group.join(kind) if distributed else Group.alone(kind)
        running = Session(group, emitter)
        try:
            yield running
        except BaseException:
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
