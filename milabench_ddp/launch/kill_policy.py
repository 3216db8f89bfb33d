"""The kill policy: when to stop a launch, how hard, and why; without processes or a clock."""

from enum import IntEnum

from ..events import Outcome, Verdict

PATIENCE = 15.0
"""Seconds after SIGKILL for all to end; a process that the kernel holds may never do so."""


class Stage(IntEnum):
    """How hard a launch has been asked to end so far."""

    RUNNING = 0
    TERMINATED = 1  # SIGTERM to the group of each process
    KILLED = 2  # SIGKILL to every process that it has started
    GIVEN_UP = 3  # processes that are still alive are left behind


class KillPolicy:
    """SIGTERM at the deadline or on request; SIGKILL after the grace period or a second request.

    All times are in seconds, on the same clock.
    """

    def __init__(self, start: float, max_duration: float, grace: float) -> None:
        self.stage = Stage.RUNNING
        self.verdict: Verdict | None = None  # why it was stopped; None if it was not stopped
        self._max_duration = max_duration
        self._grace = grace
        self._due = start + max_duration

    def stop(self, now: float, verdict: Verdict) -> None:
        """Stop from ``now`` on; the first verdict stands."""
        if self.verdict is None:
            self.verdict = verdict
            self._due = now

    def begin_grace(self, now: float) -> None:
        """Count the grace period from now: SIGTERM has been sent, maybe later than it was due."""
        if self.stage is Stage.TERMINATED:
            self._due = now + self._grace

    def kill(self, now: float) -> None:
        """Skip the rest of the grace period; call it after ``stop``."""
        if self.stage < Stage.KILLED:
            self._due = now
            self.stage = Stage.TERMINATED

    def seconds_left(self, now: float) -> float | None:
        return None if self.stage is Stage.GIVEN_UP else max(0.0, self._due - now)

    def advance(self, now: float) -> Stage | None:
        """The stage that is due now, or None; each stage is returned once."""
        if self.stage is Stage.GIVEN_UP or now < self._due:
            return None
        if self.verdict is None:
            reason = f"ended at its max_duration of {self._max_duration:g} s"
            self.verdict = Verdict(Outcome.TIMEOUT, reason)
        self.stage = Stage(self.stage + 1)
        self._due = now + (PATIENCE if self.stage is Stage.KILLED else self._grace)
        return self.stage
