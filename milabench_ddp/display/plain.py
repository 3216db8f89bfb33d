"""Progress without a terminal: a line for each change of a benchmark."""

import time
from collections.abc import Callable, Sequence
from functools import partial, wraps
from threading import Lock
from typing import IO, Concatenate, ParamSpec

from ..errors import contained, reason_of
from ..events import Clock, Ended, Event, Outcome, Verdict
from ..hidden import SECRETS
from ..hostlist import shown_nodes
from ..progress import LaunchCount, ProgressObserver, Span
from ..visible import in_line
from .run_progress import Outline, RunProgress
from .screen_thread import Job

P = ParamSpec("P")
_OUTCOME_STYLES = {Outcome.OK: "green", Outcome.CANCELLED: "yellow", Outcome.SKIPPED: "dim"}


def safe(
    method: Callable[Concatenate["PlainProgress", P], None],
) -> Callable[Concatenate["PlainProgress", P], None]:
    """A method of a display whose own trouble does not end the run.

    A display may fail at the text of a program, or because its reader is gone. The user is told the
    first time; the measurements are on disk anyway.
    """

    @wraps(method)
    def call(self: "PlainProgress", /, *args: P.args, **more: P.kwargs) -> None:
        try:
            method(self, *args, **more)
        except Exception as error:  # noqa: BLE001 - faster than ``contained``, for each event
            if not self.has_failed:
                self.has_failed = True
                with contained(lambda _: None):
                    self.write(f"the progress display is incomplete: {reason_of(error)}", "dim")

    return call


class PlainProgress(ProgressObserver):
    """Writes a line for each change of a benchmark, with the time of day, flushed.

    Args:
        put: has a job done that writes to ``out``, perhaps in another thread.
    """

    def __init__(
        self,
        out: IO[str],
        outline: Outline | None = None,
        clock: Clock = time.monotonic,
        put: Callable[[Job], None] = lambda job: job(),
    ) -> None:
        self._out, self._put = out, put
        self._known = RunProgress(outline or Outline(), clock)
        self._lock = Lock()  # of ``_known``; never held while something is written
        self.has_failed = False

    @safe
    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        with self._lock:
            self._known.begin(name, nodes, limit, ago)
        place = f"on {shown_nodes(nodes)}, " if nodes else ""
        self.write_passing(f"{name}: {place}at most {limit:g} s")

    @safe
    def event(self, event: Event) -> None:
        with self._lock:
            benchmark = self._known.take(event)
        if benchmark is not None and benchmark.phase in ("warm-up", "measuring"):
            count = len(benchmark.phases)
            processes = f", {count} processes" if count > 1 else ""
            self.write_passing(f"{benchmark.title}: {benchmark.phase}{processes}")
        if isinstance(event, Ended) and event.outcome is not Outcome.OK:
            self.write_passing(f"{event.tag}: {event.outcome}: {event.reason}")

    @safe
    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        with self._lock:
            self._known.launch_ended(name, count, pauses=pauses)
        if text:
            self.write(text, "dim")

    @safe
    def end(self, name: str, verdict: Verdict, ran: Span | None = None) -> None:
        findings = self._known.findings_of(name) if verdict.is_ok else []
        with self._lock:
            first, *others = self._known.end(name, verdict, findings, ran)
        self.write(first, _OUTCOME_STYLES.get(verdict.outcome, "red"), ran and ran[1])
        for line in others:
            self.write(line, "yellow")

    @safe
    def message(self, text: str) -> None:
        self.write(text, "dim")

    def write_passing(self, text: str) -> None:
        """Write what a live view shows for as long as it lasts."""
        self.write(text, "")

    def write(self, text: str, style: str, when: float | None = None) -> None:
        del style
        side = self._known.outline.side
        line = time_and_text(f"{side}: {text}" if side else text, when)
        self._put(partial(print, line, file=self._out, flush=True))


def time_and_text(text: str, when: float | None = None) -> str:
    """A line of the display: what it says, after the time of day, without secrets."""
    return f"{time.strftime('%H:%M:%S', time.localtime(when))} {in_line(SECRETS.hide(text))}"
