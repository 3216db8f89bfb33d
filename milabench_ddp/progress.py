"""The progress observer: the protocol between the parts that run benchmarks and the display."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from .errors import contained, reason_of
from .events import Event, Verdict


class LaunchCount(Struct, frozen=True):
    """The launches of a benchmark."""

    done: int  # those that have ended
    expected: int  # in all, as far as is known
    seconds: float | None = None  # the mean duration of those that ended ok; None without any


class ProgressObserver(Protocol):
    """Is told of a run's progress; all calls come from one thread.

    Several benchmarks may run at the same time, on different nodes. A benchmark that begins again,
    whether or not it has ended, starts from zero, unless it pauses: then it goes on.
    """

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """A benchmark begins, or has begun before this observer could be told.

        Args:
            name: the benchmark.
            nodes: the nodes on which it runs; empty if it runs on this host alone.
            limit: the most seconds that each of its repeats may take.
            ago: how many seconds ago it has begun.
        """

    def event(self, event: Event) -> None:
        """Something happened in a process on this host; processes on other nodes send no events."""

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        """One of several launches of a benchmark has ended.

        Args:
            name: the benchmark.
            count: how many have ended, how many there will be, and how long they take.
            text: how precise its rate is now, and how long the rest will take.
            pauses: whether other benchmarks run before its next launch.
        """

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended, with all its repeats; it may never have begun."""

    def message(self, text: str) -> None:
        """There is something else that the user should know."""


class ContainedProgress:
    """Passes all on to another observer, whose own trouble does not end the run.

    A display may fail at the text of a program, or because its reader is gone. The user is told the
    first time; the measurements are on disk anyway.
    """

    def __init__(self, inner: ProgressObserver) -> None:
        self.inner = inner
        self._has_told = False

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        self._pass(self.inner.begin, name, nodes, limit, ago)

    def event(self, event: Event) -> None:
        self._pass(self.inner.event, event)

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        self._pass(self.inner.launch_ended, name, count, text, pauses=pauses)

    def end(self, name: str, verdict: Verdict) -> None:
        self._pass(self.inner.end, name, verdict)

    def message(self, text: str) -> None:
        self._pass(self.inner.message, text)

    def _pass(self, tell: Callable[..., None], *said: object, **more: object) -> None:
        try:
            tell(*said, **more)
        except Exception as error:  # noqa: BLE001 - faster than ``contained``, for each event
            if not self._has_told:
                self._has_told = True
                with contained(lambda _: None):
                    self.inner.message(f"the progress display is incomplete: {reason_of(error)}")


class NoProgress:
    """Shows nothing."""

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """Nothing."""

    def event(self, event: Event) -> None:
        """Nothing."""

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        """Nothing."""

    def end(self, name: str, verdict: Verdict) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """Nothing."""
