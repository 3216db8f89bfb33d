"""What is known of a running benchmark, from its events: the model behind every display."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ..config.schema import Benchmark
from ..events import Data, Ended, Event, Note, Started
from ..plan.launch import Launch

PHASES = ("starting", "loading", "warm-up", "ready", "measuring", "ending")


@dataclass
class Progress:
    """One launch under way; rates are those last reported, one for each process."""

    benchmark: Benchmark
    launch: Launch
    began: float  # monotonic
    phases: dict[str, str] = field(default_factory=dict)  # of each process, by its tag
    unit: str = ""
    loss: float | None = None
    rates: dict[str, float] = field(default_factory=dict)
    loads: dict[str, float] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """The phase that all processes have reached."""
        reached = (self.phases.get(p.name, PHASES[0]) for p in self.launch.processes)
        return min(reached, key=PHASES.index)

    def see(self, event: Event) -> bool:
        """Take an event in; true where the phase changed."""
        before = self.phase
        match event:
            case Started():
                self._reach(event.tag, "loading")
            case Data(payload=payload):
                self._data(event.tag, payload)
            case Note(kind="ready"):
                self._reach(event.tag, "ready")
            case Note(kind="begin"):
                self._reach(event.tag, "measuring")
            case Ended():
                self._reach(event.tag, "ending")
        return self.phase != before

    def _reach(self, tag: str, phase: str) -> None:
        """Phases only go forward: the last step of the warm-up is told after `begin`."""
        self.phases[tag] = max(self.phases.get(tag, PHASES[0]), phase, key=PHASES.index)

    def _data(self, tag: str, payload: Mapping[str, Any]) -> None:
        rate, loss, gpus = payload.get("rate"), payload.get("loss"), payload.get("gpudata")
        if isinstance(rate, int | float):
            self.rates[tag] = rate
            self.unit = str(payload.get("units", ""))
            self._reach(tag, "warm-up" if payload.get("warmup") else "measuring")
        if isinstance(loss, int | float):
            self.loss = loss
        if isinstance(gpus, Mapping):
            for device, sample in gpus.items():
                if isinstance(load := sample.get("load"), int | float):
                    self.loads[str(device)] = load

    @property
    def title(self) -> str:
        """The benchmark, and which repeat of it."""
        name, repeat = self.benchmark.name, self.launch.repeat
        return name if repeat is None else f"{name} R{repeat}"

    @property
    def rate(self) -> float | None:
        """Mean over the processes of what each last reported."""
        return fmean(self.rates.values()) if self.rates else None

    @property
    def load(self) -> float | None:
        """Mean load of the devices, 0 to 1; None where nothing samples them."""
        return fmean(self.loads.values()) if self.loads else None


def rate_text(rate: float | None, unit: str) -> str:
    """A rate for people: four digits that matter, and the unit."""
    if rate is None:
        return ""
    text = f"{rate:.0f}" if abs(rate) >= 1000 else f"{rate:.4g}"
    return f"{text} {unit}".rstrip()
