"""Progress where there is no terminal: one line for each thing of note."""

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from ..config.schema import Benchmark
from ..events import Ended, Event, Outcome, Verdict
from ..plan.launch import Launch
from .model import RunProgress
from .progress import Progress, rate_text


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


class PlainDisplay:
    """Writes to ``out``, each line flushed."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._now: Progress | None = None
        self._since: dict[str, float] = {}

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """A launch is about to start."""
        self._now = Progress(benchmark, launch, self._clock())
        self._since.setdefault(benchmark.name, self._clock())
        count = len(launch.processes)
        what = "1 process" if count == 1 else f"{count} processes"
        self._say(self._now.title, f"{what}, at most {benchmark.max_duration:g} s")

    def see(self, event: Event) -> None:
        """Report a change of phase, and a process that did not end ok."""
        if self._now is None:
            return
        if self._now.see(event) and self._now.phase in ("warm-up", "measuring"):
            self._say(self._now.title, self._now.phase)
        if isinstance(event, Ended) and event.outcome is not Outcome.OK:
            self._say(event.tag, f"{event.outcome}: {event.reason}")

    def tick(self) -> None:
        """Nothing: a log should not grow by the second."""

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        """A benchmark has ended."""
        since = self._since.get(benchmark.name)
        parts = [str(outcome) if since is None else f"{outcome} in {self._clock() - since:.1f} s"]
        if since is not None and self._now and self._now.rate is not None:
            parts.append(f"last rate {rate_text(self._now.rate, self._now.unit)}")
        if reason:
            parts.append(reason)
        self._say(benchmark.name, ", ".join(parts))

    def _say(self, who: str, what: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {who}: {what}", file=self._out, flush=True)


class QuietDisplay:
    """Shows nothing."""

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """Nothing."""

    def see(self, event: Event) -> None:
        """Nothing."""

    def tick(self) -> None:
        """Nothing."""

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        """Nothing."""
