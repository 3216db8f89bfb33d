"""Requests to stop, from signals and from other threads."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

from ..events import Outcome, Verdict
from ..interrupts import ending_signals, signal_name


class StopRequests:
    """Counts requests to stop: the first means stop cleanly, a second means kill now.

    A selector that watches ``fd`` wakes up at each new request.
    """

    def __init__(self) -> None:
        self.fd, self._writing_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.stops = 0
        self.verdict = Verdict(Outcome.CANCELLED, "stopped on request")

    def stop(self, verdict: Verdict | None = None) -> None:
        """Ask to stop; signal handlers and other threads may call it. The first verdict stands."""
        if verdict is not None and not self.stops:
            self.verdict = verdict
        self.stops += 1
        self.wake()

    def interrupt(self, name: str) -> None:
        is_a_request = name in ("SIGINT", "SIGTERM")
        self.stop(None if is_a_request else Verdict(Outcome.CANCELLED, f"stopped by {name}"))

    def wake(self) -> None:
        """Make ``fd`` readable; any thread may call it."""
        with suppress(BlockingIOError):  # the pipe is full, so it is readable already
            os.write(self._writing_end, b".")

    def clear(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.fd, 1 << 16)

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._writing_end)


class Stoppable(Protocol):
    """Something that a signal asks to stop."""

    def interrupt(self, name: str) -> None:
        """Stop cleanly because of the signal of this name; asked again, stop now."""


@contextmanager
def stopped_by_signals(target: Stoppable) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and all other signals that would end this process into requests to stop.

    One that is ignored stays so, as that of a lost terminal under nohup, and so does one with a
    handler.
    """

    def ask(number: int, _frame: FrameType | None) -> None:
        target.interrupt(signal_name(number))

    numbers = {signal.SIGINT, signal.SIGTERM, *ending_signals()}
    old = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
