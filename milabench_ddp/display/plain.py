"""Progress where there is no terminal: one line for each thing of note."""

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from ..events import Ended, Event, Outcome, Verdict
from .model import RunProgress


class PlainProgress:
    """Writes to ``out``: a line for each thing of note, with the time of day, flushed."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._known = out, RunProgress(clock)

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A benchmark starts."""
        self._known.begin(name, nodes, limit)
        place = f"on {', '.join(nodes)}, " if nodes else ""
        self.message(f"{name}: {place}at most {limit:g} s")

    def event(self, event: Event) -> None:
        """Tell of a change of phase, and of a process that did not end ok."""
        benchmark = self._known.take(event)
        if benchmark is not None and benchmark.phase in ("warm-up", "measuring"):
            count = len(benchmark.phases)
            processes = f", {count} processes" if count > 1 else ""
            self.message(f"{benchmark.title}: {benchmark.phase}{processes}")
        if isinstance(event, Ended) and event.outcome is not Outcome.OK:
            self.message(f"{event.tag}: {event.outcome}: {event.reason}")

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended."""
        self.message(self._known.end(name, verdict))

    def message(self, text: str) -> None:
        """Anything else."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=self._out, flush=True)
