"""When to stop a launch, how hard, and why: policy alone, without a process or a clock."""

from enum import IntEnum

from ..events import Outcome


class Rung(IntEnum):
    """How hard a launch has been asked to end so far."""

    RUNNING = 0
    TERMINATED = 1  # SIGTERM to each process's group
    KILLED = 2  # SIGKILL to whatever bears the mark


class Ladder:
    """SIGTERM at the deadline or on request, SIGKILL after the grace or on a second request."""

    def __init__(self, start: float, max_duration: float, grace: float) -> None:
        self.rung = Rung.RUNNING
        self.cause: Outcome | None = None  # why it was stopped; None while it runs by itself
        self.reason = ""
        self._grace = grace
        self._limit = max_duration
        self._due = start + max_duration

    def stop(self, now: float, cause: Outcome, reason: str) -> None:
        """Begin to stop at ``now``; the first cause stands."""
        if self.cause is None:
            self.cause, self.reason = cause, reason
            self._due = now

    def kill(self, now: float) -> None:
        """Leave out what is left of the grace."""
        self._due = now
        if self.rung is Rung.RUNNING:
            self.rung = Rung.TERMINATED

    def wait(self, now: float) -> float | None:
        """Seconds until the next rung is due; None after the last."""
        return None if self.rung is Rung.KILLED else max(0.0, self._due - now)

    def climb(self, now: float) -> Rung | None:
        """The rung that is due now, if any; each is returned once."""
        if self.rung is Rung.KILLED or now < self._due:
            return None
        if self.cause is None:
            self.cause = Outcome.TIMEOUT
            self.reason = f"ended at its max_duration of {self._limit:g} s"
        self.rung = Rung(self.rung + 1)
        self._due = now + self._grace
        return self.rung
