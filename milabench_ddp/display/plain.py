"""Progress without a terminal: a line for each change of a benchmark."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TextIO

from ..events import Ended, Event, Outcome, Verdict
from ..hidden import SECRETS
from ..progress import LaunchCount
from ..visible import in_line
from .outline import Outline
from .run_progress import RunProgress
from .screen_thread import Job, at_once


class PlainProgress:
    """Writes a line for each change of a benchmark, with the time of day, flushed.

    Args:
        out: where it is written.
        outline: what is known of the run.
        clock: monotonic seconds.
        put: has a job done that writes to ``out``, perhaps in another thread.
    """

    def __init__(
        self,
        out: TextIO,
        outline: Outline | None = None,
        clock: Callable[[], float] = time.monotonic,
        put: Callable[[Job], None] = at_once,
    ) -> None:
        self._out, self._known = out, RunProgress(outline or Outline(), clock)
        self._put = put

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """A benchmark starts: write its nodes and its time limit."""
        self._known.begin(name, nodes, limit, ago)
        place = f"on {', '.join(nodes)}, " if nodes else ""
        self.message(f"{name}: {place}at most {limit:g} s")

    def event(self, event: Event) -> None:
        """Write a line if the phase has changed, and for a process that did not end ok."""
        benchmark = self._known.take(event)
        if benchmark is not None and benchmark.phase in ("warm-up", "measuring"):
            count = len(benchmark.phases)
            processes = f", {count} processes" if count > 1 else ""
            self.message(f"{benchmark.title}: {benchmark.phase}{processes}")
        if isinstance(event, Ended) and event.outcome is not Outcome.OK:
            self.message(f"{event.tag}: {event.outcome}: {event.reason}")

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        """A launch has ended: write how precise the rate is."""
        self._known.launch_ended(name, count, pauses=pauses)
        if text:
            self.message(text)

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended: write its outcome."""
        findings = self._known.findings_of(name) if verdict.is_ok else []
        for line in self._known.end(name, verdict, findings):
            self.message(line)

    def message(self, text: str) -> None:
        side = self._known.outline.side
        said = in_line(SECRETS.hide(f"{side}: {text}" if side else text))
        line = f"{time.strftime('%H:%M:%S')} {said}"
        self._put(partial(print, line, file=self._out, flush=True))
