"""The progress observer: the protocol between the parts that run benchmarks and the display."""

from collections.abc import Sequence

from msgspec import Struct

from .events import Event, Verdict

Span = tuple[float, float]  # seconds since the epoch


class LaunchCount(Struct, frozen=True):
    """The launches of a benchmark."""

    done: int  # those that have ended
    expected: int  # in all, as far as is known
    seconds: float | None = None  # the mean duration of those that ended ok; None without any


class ProgressObserver:
    """Is told of a run's progress, and shows nothing; all calls come from one thread.

    Several benchmarks may run at the same time, on different nodes. A benchmark that begins again,
    whether or not it has ended, starts from zero, unless it pauses: then it goes on.
    """

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """A benchmark begins, or has begun before this observer could be told.

        Args:
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
            count: how many have ended, how many there will be, and how long they take.
            text: how precise its rate is now, and how long the rest will take.
            pauses: whether other benchmarks run before its next launch.
        """

    def end(self, name: str, verdict: Verdict, ran: Span | None = None) -> None:
        """A benchmark has ended, with all its repeats; it may never have begun.

        ``ran`` is from when to when, by the clock of its coordinator; None: it ends now.
        """

    def message(self, text: str) -> None:
        """There is something else that the user should know."""
