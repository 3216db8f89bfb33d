"""Who is told how a run progresses: the protocol between what runs and what is shown of it."""

from collections.abc import Sequence
from typing import Protocol

from .events import Event, Verdict


class ProgressObserver(Protocol):
    """Is told what happens during a run; all calls come from one thread.

    Several benchmarks may run at the same time, on different nodes. One that begins again, after
    its end or without one, runs anew.
    """

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A benchmark starts, and each of its repeats takes at most ``limit`` seconds.

        Args:
            name: the benchmark's.
            nodes: those it runs on; none are named where that is this host alone.
            limit: in seconds, for each repeat.
        """

    def event(self, event: Event) -> None:
        """Something happened in a benchmark's process on this host; other nodes tell nothing."""

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended with all its repeats; also one that never began."""

    def message(self, text: str) -> None:
        """Anything else that a person should know."""


class NoProgress:
    """Shows nothing."""

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """Nothing."""

    def event(self, event: Event) -> None:
        """Nothing."""

    def end(self, name: str, verdict: Verdict) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """Nothing."""
