"""The progress of a run: the model behind every display, and its plain form, line by line."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TextIO

from ..events import Data, Ended, Event, Note, Outcome, Started, Verdict
from ..results.rates import is_warmup

PHASES = ("loading", "warm-up", "ready", "measuring", "ending")  # in the order they are reached
_NOTES = {"ready": "ready", "begin": "measuring"}  # the phase that begins with a program's note


@dataclass
class RunningBenchmark:
    """A running benchmark, with the last values that its current repeat reported.

    Times are in seconds of the model's clock.
    """

    name: str
    nodes: tuple[str, ...]
    limit: float  # seconds, for each repeat
    began: float
    repeat_began: float
    repeat: str = ""  # `R1`; empty where there is only one
    phases: dict[str, str] = field(default_factory=dict)  # of each process, by its tag
    rates: dict[str, float] = field(default_factory=dict)  # of each process, by its tag
    loads: dict[str, float] = field(default_factory=dict)  # 0 to 1, of each device, by its index
    unit: str = ""
    loss: str = ""

    @property
    def title(self) -> str:
        """Its name, and the repeat that runs."""
        return f"{self.name} {self.repeat}".rstrip()

    @property
    def phase(self) -> str:
        """The phase that all processes have reached; empty if none is known to have started."""
        return min(self.phases.values(), key=PHASES.index, default="")

    @property
    def rate(self) -> str:
        """The mean over the processes, with its unit; empty before the first rate."""
        if not self.rates:
            return ""
        rate = fmean(self.rates.values())
        format = ".0f" if abs(rate) >= 1000 else ".4g"
        return f"{rate:{format}} {self.unit}".rstrip()

    @property
    def load(self) -> float | None:
        """The mean over the devices, 0 to 1; None if they are not sampled."""
        return fmean(self.loads.values()) if self.loads else None

    def take(self, event: Event, now: float) -> bool:
        """Take an event into account; true if all processes have now reached another phase."""
        part = event.tag.removeprefix(f"{self.name}.").split(".")[0]
        repeat = part if part.startswith("R") else ""
        if repeat != self.repeat:
            self.repeat, self.repeat_began, self.loss = repeat, now, ""
            self.phases.clear()
            self.rates.clear()
        before = self.phase
        match event:
            case Started(tag):
                self._reach(tag, "loading")
            case Data(tag, payload=payload):
                self._take_metrics(tag, payload)
            case Note(tag, kind=kind) if kind in _NOTES:
                self._reach(tag, _NOTES[kind])
            case Ended(tag):
                self._reach(tag, "ending")
        return self.phase != before

    def _reach(self, tag: str, phase: str) -> None:
        """Set the phase of a process; it only goes forward.

        The last step of the warm-up is reported after `begin`.
        """
        before = self.phases.get(tag, phase)
        self.phases[tag] = max(before, phase, key=PHASES.index)

    def _take_metrics(self, tag: str, payload: Mapping[str, Any]) -> None:
        rate = payload.get("rate")
        if isinstance(rate, int | float):
            self.rates[tag] = rate
            self.unit = " ".join(str(payload.get("units", "")).split())
            self._reach(tag, "warm-up" if is_warmup(payload) else "measuring")
        loss = payload.get("loss")
        if isinstance(loss, int | float):
            self.loss = f"{loss:.4g}"
        devices = payload.get("gpudata")
        if isinstance(devices, Mapping):
            for index, sample in devices.items():
                match sample:
                    case {"load": int() | float() as load}:
                        self.loads[index] = load


class RunProgress:
    """The benchmarks that run, and the outcomes of those that have ended."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.running: dict[str, RunningBenchmark] = {}  # in the order in which they began
        self._outcomes: dict[str, Outcome] = {}

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """A benchmark starts, or starts again."""
        began = self.clock() - ago
        self._outcomes.pop(name, None)
        self.running[name] = RunningBenchmark(name, tuple(nodes), limit, began, began)

    def take(self, event: Event) -> RunningBenchmark | None:
        """Take an event into account; returns its benchmark if the event changed its phase."""
        names = [name for name in self.running if event.tag.startswith(f"{name}.")]
        if not names:
            return None
        benchmark = self.running[max(names, key=len)]  # `gpt.2.D0` is of `gpt.2`, not of `gpt`
        return benchmark if benchmark.take(event, self.clock()) else None

    def end(self, name: str, verdict: Verdict) -> str:
        """A benchmark has ended; returns the line to show."""
        self._outcomes[name] = verdict.outcome
        text = f"{name}: {verdict.outcome}"
        if name in self.running:
            benchmark = self.running.pop(name)
            text += f" in {self.clock() - benchmark.began:.1f} s"
            if benchmark.rates:
                text += f", last rate {benchmark.rate}"
        if verdict.reason:
            text += f", {verdict.reason}"
        return text

    def summary(self, total: int) -> str:
        """How many of ``total`` benchmarks have ended, by outcome, how many run, how many wait."""
        ended = len(self._outcomes)
        running = len(self.running)
        text = f"{ended} of {total} benchmarks"
        if ended:
            counts = Counter(self._outcomes.values())
            outcomes = [f"{count} {outcome}" for outcome, count in counts.items()]
            text += f" ({', '.join(outcomes)})"
        return f"{text}, {running} running, {total - ended - running} waiting"


class PlainProgress:
    """Writes a line to ``out`` for each change of a benchmark, with the time of day, flushed."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._known = out, RunProgress(clock)

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

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended: write its outcome."""
        self.message(self._known.end(name, verdict))

    def message(self, text: str) -> None:
        """Write a message."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=self._out, flush=True)
