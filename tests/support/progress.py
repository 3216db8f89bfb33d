"""Recorded progress of a run: short events, and two complete histories."""

import re
from collections.abc import Sequence
from typing import Any

from milabench_ddp.events import Data, Ended, Event, Note, Outcome, Started, Verdict
from milabench_ddp.progress import LaunchCount, ProgressObserver, Span
from tests.support.dispatch import Clock

OK = Verdict(Outcome.OK)


class RecordedProgress(ProgressObserver):
    """An observer that records all calls."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.begun: list[tuple[str, tuple[str, ...]]] = []
        self.ago: dict[str, float] = {}
        self.events: list[Event] = []
        self.ended: dict[str, Verdict] = {}
        self.ran: dict[str, Span | None] = {}
        self.launches: list[tuple[str, int, int, bool]] = []

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        self.begun.append((name, tuple(nodes)))
        self.ago[name] = ago

    def event(self, event: Event) -> None:
        self.events.append(event)

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        self.launches.append((name, count.done, count.expected, pauses))
        self.messages.append(text)

    def end(self, name: str, verdict: Verdict, ran: Span | None = None) -> None:
        self.ended[name] = verdict
        self.ran[name] = ran

    def message(self, text: str) -> None:
        self.messages.append(text)


def without_times(text: str) -> str:
    """The lines of a display, with the same time of day in each."""
    return re.sub(r"(?m)^\d\d:\d\d:\d\d ", "hh:mm:ss ", text)


def started(tag: str) -> Event:
    return Started(tag, 0.0, 1, ("python",))


def rate(tag: str, value: float, **more: Any) -> Event:
    return Data(tag, 0.0, {"task": "train", "rate": value, "units": "items/s", **more})


def load(tag: str, device: str, value: float) -> Event:
    return Data(tag, 0.0, {"gpudata": {device: {"memory": [1, 2], "load": value}}})


def begins_to_measure(tag: str) -> Event:
    return Note(tag, 0.0, "begin", {})


def ended(tag: str, outcome: Outcome = Outcome.OK, reason: str = "") -> Event:
    return Ended(tag, 0.0, 0 if outcome is Outcome.OK else 1, outcome, reason)


def tell_of_a_run_on_this_host(observer: ProgressObserver, clock: Clock) -> None:
    """Two processes that warm up, two repeats with a crash, and a benchmark that never began."""
    observer.begin("flops", [], 60.0)
    observer.event(started("flops.D0"))
    observer.event(started("flops.D1"))
    observer.event(rate("flops.D0", 1.0, warmup=True))
    observer.event(rate("flops.D1", 2.0, warmup=True))
    clock.sleep(2.0)
    observer.event(begins_to_measure("flops.D0"))
    observer.event(begins_to_measure("flops.D1"))
    observer.event(rate("flops.D0", 2.0, warmup=True))  # reported late
    observer.event(rate("flops.D0", 1234.5))
    observer.event(rate("flops.D1", 1236.5, loss=0.25))
    observer.event(ended("flops.D0"))
    observer.event(ended("flops.D1"))
    clock.sleep(10.34)
    observer.end("flops", OK)
    observer.begin("gpt-1.5b", [], 600.0)
    for repeat in ("R1", "R2"):
        tag = f"gpt-1.5b.{repeat}.0"
        observer.event(started(tag))
        observer.event(load(tag, "0", 0.9))
        observer.event(load(tag, "1", 0.8))
        observer.event(rate(tag, 0.5, loss=10.25))
        clock.sleep(30.0)
        if repeat == "R1":
            observer.event(ended(tag))
    observer.event(ended("gpt-1.5b.R2.0", Outcome.FAILED, "exit status 3"))
    observer.end("gpt-1.5b", Verdict(Outcome.FAILED, "exit status 3"))
    observer.message("stopping: SIGINT again ends it at once")
    observer.end("resnet50", Verdict(Outcome.CANCELLED, "stopped before it began"))


def tell_of_a_sweep(observer: ProgressObserver, clock: Clock) -> None:
    """Benchmarks that run at the same time on other nodes, so that no events of them arrive."""
    observer.begin("gpt-1", ["node0"], 60.0)
    observer.begin("gpt-2", [f"node{rank}" for rank in range(1, 9)], 90.0)
    clock.sleep(12.0)
    observer.end("gpt-1", OK)
    observer.message("[node3] is back")
    observer.begin("gpt-1.2", ["node0", "node9"], 60.0)
    clock.sleep(5.0)
    observer.end("gpt-16", Verdict(Outcome.LOST, "too few nodes: 10 of 16 can be used"))
