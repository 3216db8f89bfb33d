"""Clocks that make the marks between steps: the host's clock, or events on the device's stream.

A device runs behind the host, so a host clock around a step measures how fast work is queued. An
event is queued with the work and takes its time on the device; reading it later stops nothing.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch


class Clock(Protocol):
    """Marks moments; the time between two marks is known once the later one has happened."""

    def mark(self) -> Any:
        """Mark the moment at which the work queued so far is done."""

    def happened(self, mark: Any) -> bool:
        """Whether the moment has come; never waits."""

    def wait(self, mark: Any) -> None:
        """Block until the moment has come."""

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time between two moments that have come."""

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """A scalar on its way to the host; there once a mark made after this call has happened."""

    def recycle(self, marks: Sequence[Any]) -> None:
        """Take back marks that will not be read again."""


class HostClock:
    """A CPU computes while it is called: the host's monotonic clock, in nanoseconds."""

    mark = staticmethod(time.perf_counter_ns)

    def happened(self, mark: int) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def wait(self, mark: int) -> None:
        """Return at once."""

    def milliseconds(self, start: int, end: int) -> float:
        """The difference."""
        return (end - start) / 1e6

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """A copy: the program may go on to write into the tensor."""
        return value.detach().clone()

    def recycle(self, marks: Sequence[int]) -> None:
        """Return at once."""


class DeviceClock:
    """Events on the current stream of an accelerator."""

    def __init__(self, device: torch.device) -> None:
        """Make events of ``device`` (CUDA, ROCm, XPU: any whose torch module has ``Event``)."""
        self._new_event = torch.get_device_module(device).Event
        self._free: list[Any] = []

    def mark(self) -> Any:
        """An event behind the work queued so far."""
        event = self._free.pop() if self._free else self._new_event(enable_timing=True)
        event.record()
        return event

    def happened(self, mark: Any) -> bool:
        """Whether the device has passed the event."""
        return bool(mark.query())

    def wait(self, mark: Any) -> None:
        """Block the host until the device has passed the event."""
        mark.synchronize()

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time on the device between two events."""
        return float(start.elapsed_time(end))

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """A copy queued behind the work; pinned, because a copy to other memory would block."""
        value = value.detach()
        return torch.empty_like(value, device="cpu", pin_memory=True).copy_(
            value, non_blocking=True
        )

    def recycle(self, marks: Sequence[Any]) -> None:
        """Keep the events for later marks: making new ones costs more than recording them."""
        self._free.extend(marks)


def clock_of(device: torch.device) -> Clock:
    """The clock that measures work on ``device``."""
    return HostClock() if device.type == "cpu" else DeviceClock(device)
