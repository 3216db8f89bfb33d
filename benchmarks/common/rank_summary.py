"""The measurements of one rank, as rank 0 reports them at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.instrument_cost import Cost
from benchmarks.common.metrics import Emitter


@dataclass(frozen=True)
class RankSummary:
    """The measurements of one rank, as they are sent to rank 0."""

    rank: int
    first: int  # index of the first measured step
    ms: Sequence[float]
    wait_ms: Sequence[float]
    parts: Mapping[str, Sequence[float]]  # ms in each step; empty if the body has one part
    memory_peak: list[float] | None  # allocated, reserved; MiB; without the first step
    memory_first_step: list[float] | None  # the same until the first step ended
    step_fractions: Mapping[str, float]  # of the wait for data and of each part of the body
    part_ms: Mapping[str, tuple[float, float]]  # mean and standard deviation
    device_idle: float | None  # fraction of a step
    instrument_cost: Cost | None  # of its marks
    collections: Mapping[str, Any]  # by Python's garbage collector, as they are reported
    node: str  # its name in the run; empty on one node
    startup: Mapping[str, float]  # seconds of each part of it
    memory: Mapping[str, Mapping[str, float]]  # MiB, by kind and phase

    def report(self, emitter: Emitter) -> None:
        """Report the measurements through rank 0's ``emitter``."""
        rank = self.rank
        if self.node:
            emitter.data("main", rank=rank, node=self.node)
        emitter.data("main", rank=rank, startup=self.startup, **self.memory)
        if self.step_fractions:
            emitter.data("main", rank=rank, shares=self.step_fractions, part_ms=self.part_ms)
        emitter.step_times(rank, self.first, self.ms, self.wait_ms, self.parts)
        if self.memory_peak is not None:
            emitter.data("main", rank=rank, memory_peak=self.memory_peak)
        if self.device_idle is not None:
            emitter.data("main", rank=rank, device_idle=self.device_idle)
        if self.instrument_cost is not None:
            share, error = (round(each, 6) for each in self.instrument_cost)
            emitter.data("main", rank=rank, instrument_cost=share, instrument_cost_error=error)
        if self.collections:
            emitter.data("main", rank=rank, garbage_collections=self.collections)
        if self.memory_first_step is not None:
            emitter.data("main", rank=rank, memory_first_step=self.memory_first_step)
