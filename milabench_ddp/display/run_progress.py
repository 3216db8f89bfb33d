"""The progress of a run: the model behind every display."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import fmean

from msgspec import UNSET, Struct, ValidationError, convert, to_builtins

from ..errors import counts_text, shortened
from ..events import Clock, Data, Ended, Event, Metrics, Note, Outcome, Output, Started, Verdict
from ..metric_line import MetricLine
from ..progress import LaunchCount, Span
from ..results.rates import is_finite, is_warmup
from ..results.run_dir import RunDir
from ..samples import DeviceSample

PHASES = ("loading", "warm-up", "ready", "measuring", "ending")  # in the order they are reached
_NOTES = {"ready": "ready", "begin": "measuring"}  # the phase that begins with a program's note
BAD = (Outcome.FAILED, Outcome.TIMEOUT, Outcome.LOST, Outcome.NOT_BEGUN)


class Outline(Struct, frozen=True):
    """The benchmarks of a run, and how long each is expected to take."""

    benchmarks: Sequence[str] = ()  # by name, in their order
    launches: int = 1  # of each, as far as is known
    seconds: Mapping[str, float] = {}  # of a launch, by benchmark
    run: RunDir | None = None  # where its files are; None if they are not read
    sends_events: bool = True  # whether what happens in processes is told, and not only on disk
    side: str = ""  # its name, if another run takes turns with it: its lines begin with that


class _Samples(Struct):
    """What the monitor adds to a payload."""

    gpudata: dict[str, DeviceSample] = {}


class RunningBenchmark(Struct):
    """A running benchmark, with the last values that its current launch reported.

    Times are in seconds of the model's clock.
    """

    name: str
    nodes: tuple[str, ...]
    limit: float  # seconds, for each launch
    began: float
    repeat_began: float
    expected: int = 1  # launches in all
    repeat: str = ""  # `R1`; empty where there is only one
    done: int = 0  # launches
    phases: dict[str, str] = {}  # of each process, by its tag
    rates: dict[str, float] = {}  # of each process, by its tag
    # by node, empty where there is one alone, and by index
    devices: dict[tuple[str, str], DeviceSample] = {}
    unit: str = ""
    loss: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.repeat}".rstrip()

    @property
    def phase(self) -> str:
        return min(self.phases.values(), key=PHASES.index, default="")

    @property
    def rate(self) -> str:
        """The mean over the processes, with its unit; empty before the first rate."""
        if not self.rates:
            return ""
        rate = fmean(self.rates.values())
        format = ".0f" if abs(rate) >= 1000 else ".4g"
        return f"{rate:{format}} {self.unit}".rstrip()

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
            case Metrics(tag, lines=lines):
                rate, loss = _last(lines, "rate"), _last(lines, "loss")
                self._take_metrics(tag, {**to_builtins(rate), "loss": loss.loss})
            case Data(tag, payload=payload):
                self._take_metrics(tag, payload)
                node = next((name for name in self.nodes if f".{name}." in f"{tag}."), "")
                with suppress(ValidationError, OverflowError):
                    for index, sample in convert(payload, _Samples).gpudata.items():
                        self.devices[node, index] = sample
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

    def _take_metrics(self, tag: str, payload: Mapping[str, object]) -> None:
        rate = payload.get("rate")
        if is_finite(rate) or (isinstance(rate, float) and math.isnan(rate)):
            self.rates[tag] = rate
            self.unit = shortened(" ".join(str(payload.get("units", "")).split()), 60)
            self._reach(tag, "warm-up" if is_warmup(payload.get("warmup")) else "measuring")
        loss = payload.get("loss")
        if isinstance(loss, float) or is_finite(loss):
            self.loss = f"{loss:.4g}"


def _last(lines: Sequence[MetricLine], name: str) -> MetricLine:
    found = (line for line in reversed(lines) if getattr(line, name) is not UNSET)
    return next(found, MetricLine())


class RunProgress:
    """What runs, the outcomes of what has ended, and how long the rest will take."""

    def __init__(self, outline: Outline, clock: Clock) -> None:
        self.outline, self.clock = outline, clock
        self.running: dict[str, RunningBenchmark] = {}  # in the order in which they began
        self.paused: dict[str, RunningBenchmark] = {}
        self.problems: list[str] = []  # failures and findings, the last one last
        self._reason = ""  # of the last end
        self.outcomes: dict[str, Outcome] = {}
        self._seconds: dict[str, float] = {}  # of a launch, as measured in this run

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        if name in self.paused:
            benchmark = self.running[name] = self.paused.pop(name)
            # the pause began with the end of a launch, and does not count
            benchmark.began += self.clock() - benchmark.repeat_began
            benchmark.repeat_began = self.clock()
            return
        began = self.clock() - ago
        self.outcomes.pop(name, None)
        launches = self.outline.launches
        self.running[name] = RunningBenchmark(name, tuple(nodes), limit, began, began, launches)

    def take(self, event: Event) -> RunningBenchmark | None:
        """Take an event into account; returns its benchmark if the event changed its phase."""
        if isinstance(event, Output):
            return None
        names = [name for name in self.running if event.tag.startswith(f"{name}.")]
        if not names:
            return None
        benchmark = self.running[max(names, key=len)]  # `gpt.2.D0` is of `gpt.2`, not of `gpt`
        return benchmark if benchmark.take(event, self.clock()) else None

    def launch_ended(self, name: str, count: LaunchCount, *, pauses: bool) -> None:
        if name not in self.running:
            return
        benchmark = self.running[name]
        benchmark.done, benchmark.expected = count.done, count.expected
        benchmark.repeat_began = self.clock()
        if count.seconds is not None:
            self._seconds[name] = count.seconds
        if pauses:
            self.paused[name] = self.running.pop(name)

    def findings_of(self, name: str) -> list[str]:
        if self.outline.run is None or name not in (*self.running, *self.paused):
            return []
        from ..report.partial import findings_of_benchmark  # here: few displays need the report

        found = findings_of_benchmark(self.outline.run, name)
        return [f"{each.severity}  {each.sentence}" for each in found]

    def end(
        self, name: str, verdict: Verdict, findings: Sequence[str] = (), ran: Span | None = None
    ) -> list[str]:
        self.outcomes[name] = verdict.outcome
        text = f"{name}: {verdict.outcome}"
        if name in self.paused:
            self.begin(name, (), 0.0)
        if name in self.running:
            benchmark = self.running.pop(name)
            # without pauses between launches
            took = ran[1] - ran[0] if ran and benchmark.done < 2 else self.clock() - benchmark.began
            self._seconds.setdefault(name, took)
            text += f" in {took:.1f} s"
            if benchmark.rates:
                text += f", last rate {benchmark.rate}"
        reason = verdict.reason
        if reason and reason == self._reason:
            reason = "for the same reason"
        self._reason = verdict.reason
        if reason:
            text += f", {reason}"
        if verdict.outcome in BAD:
            self.problems.append(f"{verdict.outcome}  {name}: {reason}")
        self.problems += findings
        return [text, *findings]

    @property
    def waiting(self) -> list[str]:
        begun = {*self.outcomes, *self.running, *self.paused}
        return [name for name in self.outline.benchmarks if name not in begun]

    def launch_seconds(self, name: str) -> float | None:
        """How long a launch takes: as before in this run, or as in former runs."""
        return self._seconds.get(name) or self.outline.seconds.get(name)

    @property
    def seconds_left(self) -> float | None:
        """About how many seconds the rest takes; None while nothing tells it."""
        left = [(name, self.outline.launches, 0.0) for name in self.waiting]
        for each in (*self.paused.values(), *self.running.values()):
            since = self.clock() - each.repeat_began if each.name in self.running else 0.0
            left.append((each.name, max(each.expected - each.done, 1), since))
        total = 0.0
        for name, launches, since in left:
            seconds = self.launch_seconds(name)
            if seconds is None and not self._seconds:
                return None
            if seconds is None:
                seconds = fmean(self._seconds.values())
            total += launches * seconds - min(since, seconds)
        return total / max(1, len(self.running))  # beside each other, on other nodes

    def counts(self) -> str:
        """The outcomes of those that have ended: ``11 ok, 1 failed``; empty without any."""
        return counts_text(Counter(self.outcomes.values()))
