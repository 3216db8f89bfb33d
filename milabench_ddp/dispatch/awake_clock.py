"""A clock that stands still while this process does, as in a job that is suspended."""

import threading
import time
from collections.abc import Callable

LONGEST = 5.0  # seconds between two readings that count


class AwakeClock:
    """Monotonic seconds, without those in which this process was stopped.

    A stopped process cannot tell that it was; but someone reads this clock with every heartbeat, so
    only a stop makes the time between two readings long. Any thread may read it.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._reading = clock, threading.Lock()
        self._last, self._awake = clock(), 0.0

    def __call__(self) -> float:
        with self._reading:
            now = self._clock()
            self._awake += min(now - self._last, LONGEST)
            self._last = now
            return self._awake
