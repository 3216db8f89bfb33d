"""What reaches the supervisor from outside: requests to stop, and events of other threads."""

import os
import queue
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

from ..events import Event


class Inbox:
    """Wakes a selector: a descriptor becomes readable when something was put in."""

    def __init__(self) -> None:
        self.fd, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.stops = 0  # 1: stop cleanly; 2 and more: kill now
        self.reason = "stopped on request"

    def put(self, event: Event) -> None:
        """Hand an event over; any thread may."""
        self._events.put(event)
        self._poke()

    def stop(self, reason: str | None = None) -> None:
        """Ask to stop; the second time, to kill. Signal handlers and other threads may call it."""
        if reason is not None and not self.stops:
            self.reason = reason
        self.stops += 1
        self._poke()

    def take(self) -> Iterator[Event]:
        """The events put in so far; the descriptor is quiet again afterwards."""
        with suppress(BlockingIOError):
            os.read(self.fd, 4096)
        while not self._events.empty():
            yield self._events.get()

    def close(self) -> None:
        """Close both ends."""
        os.close(self.fd)
        os.close(self._wake)

    def _poke(self) -> None:
        with suppress(BlockingIOError):  # full: whoever reads it will look anyway
            os.write(self._wake, b".")


class Stoppable(Protocol):
    """What can be asked to stop, also from a signal handler."""

    def stop(self) -> None:
        """Stop cleanly; asked again, stop now."""


@contextmanager
def stopped_by_signals(inbox: Stoppable) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a lost terminal (but not under nohup) into requests to stop."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        inbox.stop()

    asked = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        asked.append(signal.SIGHUP)
    old = {number: signal.signal(number, ask) for number in asked}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
