"""What surrounds the loop of every program: its device, its ranks, its metrics and its end."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch

from common import start
from common.clocks import clock_of
from common.device import peak_memory
from common.failure import reported
from common.group import Group
from common.metrics import Emitter
from common.timing import INTERVAL, StepTimer

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class RankSummary:
    """What one rank measured, as it travels to rank 0."""

    rank: int
    first: int  # index of the first measured step
    ms: Sequence[float]
    wait_ms: Sequence[float]
    memory_peak: list[float] | None  # allocated, reserved; MiB


class Session:
    """A program between its options and its end; made by ``session``."""

    def __init__(self, group: Group, emitter: Emitter) -> None:
        """Measure on the group's device, and tell the emitter."""
        self.group = group
        self._emitter = emitter
        self._timer: StepTimer | None = None

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
    ) -> Iterator[Batch]:
        """Time the body of a ``for`` over this: ``warmup`` steps, then ``count`` measured ones.

        ``work`` is this rank's work in one step, in ``units``. Ranks that train together step
        together, so the rate that rank 0 tells is the work of all over its own step time.
        """
        self._timer = StepTimer(
            clock_of(self.device),
            self._emitter,
            work=work * self.group.world_size,
            units=units,
            interval=interval,
            begin=partial(start.barrier, self._emitter),
        )
        return self._timer.steps(batches, count, warmup)

    def watch(self, loss: torch.Tensor) -> None:
        """Tell this loss when its step's time is told; nothing waits for it now."""
        if self._timer is not None:
            self._timer.watch(loss)

    def flush(self) -> None:
        """After a failure: tell what this rank measured; the others may be gone."""
        if self._timer is not None:
            self._timer.flush()
            self._tell(self._summary(self._timer))

    def finish(self) -> None:
        """Tell, from rank 0, the step times and the peak memory of every rank."""
        if self._timer is not None:
            for summary in self.group.gather(self._summary(self._timer)):
                self._tell(summary)

    def _summary(self, timer: StepTimer) -> RankSummary:
        memory = peak_memory(self.device)
        return RankSummary(self.group.rank, timer.first, timer.ms, timer.wait_ms, memory)

    def _tell(self, summary: RankSummary) -> None:
        rank = summary.rank
        self._emitter.step_times(rank, summary.first, summary.ms, summary.wait_ms)
        if summary.memory_peak is not None:
            self._emitter.data("main", rank=rank, memory_peak=summary.memory_peak)


@contextmanager
def session(kind: str | None, *, distributed: bool = False) -> Iterator[Session]:
    """Run the block on a device of ``kind``, in torchrun's process group if ``distributed``.

    At the end the metrics of all ranks are told. An exception is told with its rank, after what was
    measured until then; the process group is then left to die with the process, because to end it
    properly would wait for ranks that may hang.
    """
    emitter = Emitter.from_environment()
    with reported(emitter):
        group = Group.join(kind) if distributed else Group.alone(kind)
        running = Session(group, emitter)
        try:
            yield running
        except BaseException:
            running.flush()
            raise
        running.finish()
        group.leave()
