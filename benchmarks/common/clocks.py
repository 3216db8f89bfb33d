"""Clocks that make the marks between steps: the host's clock, or events on the device's stream.

A device runs behind the host, so a host clock around a step measures how fast work is queued. An
event is queued with the work and takes its time on the device; reading it later stops nothing.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch

CYCLES = 2_500_000  # of a fast GPU in a millisecond; a slower one is held for longer


class Clock(Protocol):
    """Marks moments; the time between two marks is known once the later mark has happened."""

    can_hold: bool  # whether ``hold`` keeps the device from working

    def mark(self) -> Any:
        """Mark the moment at which the work queued so far is done."""

    def happened(self, mark: Any) -> bool:
        """Whether the mark has happened; never waits."""

    def wait(self, mark: Any) -> None:
        """Block until the mark has happened."""

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time between two marks that have happened, in milliseconds."""

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """Copy a scalar to the host; it is there once a mark made after this call has happened."""

    def recycle(self, marks: Sequence[Any]) -> None:
        """Take back marks that will not be read again."""

    def hold(self, ms: float) -> None:
        """Keep the device for at least so long from what is queued after this call."""


class HostClock:
    """The host's monotonic clock, in nanoseconds, for a CPU: it computes while it is called."""

    can_hold = False
    mark = staticmethod(time.perf_counter_ns)

    def happened(self, mark: int) -> bool:  # noqa: ARG002
        """Always true."""
        return True

    def wait(self, mark: int) -> None:
        """Return at once."""

    def milliseconds(self, start: int, end: int) -> float:
        """The difference, in milliseconds."""
        return (end - start) / 1e6

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """Copy the scalar, because the program may write into the tensor afterwards."""
        return value.detach().clone()

    def recycle(self, marks: Sequence[int]) -> None:
        """Return at once."""

    def hold(self, ms: float) -> None:
        """Return at once."""


class NoClock(HostClock):
    """Marks nothing."""

    @staticmethod
    def mark() -> int:
        """Return at once."""
        return 0


class DeviceClock:
    """Events on the current stream of an accelerator."""

    def __init__(self, device: torch.device) -> None:
        module = torch.get_device_module(device)
        self._new_event = module.Event
        self._spin = getattr(module, "_sleep", None)  # CUDA and ROCm have it, XPU has not
        self.can_hold = self._spin is not None
        self._free: list[Any] = []

    def mark(self) -> Any:
        """Record an event behind the work queued so far."""
        event = self._free.pop() if self._free else self._new_event(enable_timing=True)
        event.record()
        return event

    def happened(self, mark: Any) -> bool:
        return bool(mark.query())

    def wait(self, mark: Any) -> None:
        """Block the host until the device has passed the event."""
        mark.synchronize()

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time on the device between two events, in milliseconds."""
        return float(start.elapsed_time(end))

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """Queue a copy behind the work, to pinned memory: a copy to other memory would block."""
        value = value.detach()
        return torch.empty_like(value, device="cpu", pin_memory=True).copy_(
            value, non_blocking=True
        )

    def recycle(self, marks: Sequence[Any]) -> None:
        """Keep the events for later marks: making new ones costs more than recording them."""
        self._free.extend(marks)

    def hold(self, ms: float) -> None:
        """Queue a kernel that does nothing for so long."""
        assert self._spin is not None
        self._spin(round(ms * CYCLES))


class HeadStart:
    """A clock that holds the device at each mark, while the host queues what comes after it.

    So the time between two marks is that of the device alone, whatever the host takes.
    """

    can_hold = False

    def __init__(self, clock: Clock, ms: float) -> None:
        self._clock, self._ms = clock, ms

    def mark(self) -> tuple[Any, Any]:
        """Mark the moment before the device is held, and that after it."""
        before = self._clock.mark()
        self._clock.hold(self._ms)
        return before, self._clock.mark()

    def happened(self, mark: tuple[Any, Any]) -> bool:
        return self._clock.happened(mark[1])

    def wait(self, mark: tuple[Any, Any]) -> None:
        """Block until then."""
        self._clock.wait(mark[1])

    def milliseconds(self, start: tuple[Any, Any], end: tuple[Any, Any]) -> float:
        """The time from the release at one mark to the next mark, in milliseconds."""
        return self._clock.milliseconds(start[1], end[0])

    def fetch(self, value: torch.Tensor) -> torch.Tensor:
        """As the clock does."""
        return self._clock.fetch(value)

    def recycle(self, marks: Sequence[tuple[Any, Any]]) -> None:
        """Give both moments of each mark back."""
        for mark in marks:
            self._clock.recycle(mark)

    def hold(self, ms: float) -> None:
        """It holds at marks alone."""


NO_CLOCK = NoClock()


def clock_of(device: torch.device) -> Clock:
    """The clock that measures work on ``device``."""
    return HostClock() if device.type == "cpu" else DeviceClock(device)
