import threading
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.machine.backends.backend import DriverError, Reading
from milabench_ddp.monitor import sampler as module
from milabench_ddp.monitor.sampler import Sampler, next_due
from milabench_ddp.samples import DeviceSample
from tests.support.wait import PATIENCE, wait_for

TICK = 0.01
LONG = 600.0

Step = Reading | DriverError


class Scripted:
    """A source with a history: its last step repeats."""

    def __init__(self, *steps: Step, open_error: DriverError | None = None) -> None:
        self.steps = list(steps)
        self.open_error = open_error
        self.reads = 0
        self.log: list[str] = []

    def __enter__(self) -> Callable[[], Reading]:
        self.log.append("open")
        if self.open_error:
            raise self.open_error
        return lambda: self.read()

    def read(self) -> Reading:
        step = self.steps[min(self.reads, len(self.steps) - 1)]
        self.reads += 1
        if isinstance(step, DriverError):
            raise step
        return step

    def __exit__(self, *exception: object) -> None:
        self.log.append("close")


class Run:
    """A sampler with its outputs, stopped at the end."""

    def __init__(self, source: Scripted, interval: float = TICK) -> None:
        self.source = source
        self.samples: list[tuple[float, Mapping[int, DeviceSample]]] = []
        self.problems: list[str] = []
        self.sampler = Sampler(source, interval, self._sink, self.problems.append)

    def _sink(self, when: float, samples: Mapping[int, DeviceSample]) -> None:
        self.samples.append((when, samples))

    def __enter__(self) -> "Run":
        self.sampler.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.sampler.stop()


def good(load: float = 0.5) -> Reading:
    return Reading({0: DeviceSample(load=load)})


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "sampler"]


def test_samples_come_with_their_times_until_it_is_stopped() -> None:
    before = time.time()
    with Run(Scripted(good(0.1), good(0.2), good(0.3))) as run:
        wait_for(lambda: len(run.samples) >= 3)
    assert [samples[0].load for _, samples in run.samples[:3]] == [0.1, 0.2, 0.3]
    times = [when for when, _ in run.samples]
    assert before <= times[0]
    assert times == sorted(times)
    assert run.problems == []
    assert run.source.log == ["open", "close"]
    assert threads() == []


def test_it_reads_at_once_and_stops_within_an_interval() -> None:
    with Run(Scripted(good()), interval=LONG) as run:
        wait_for(lambda: len(run.samples) == 1)
    assert threads() == []
    assert run.source.reads == 1


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 1000))
def test_samples_are_due_on_a_grid_and_late_ones_are_skipped(
    due: int, late: int, interval: int
) -> None:
    now = due + late
    found = next_due(due, now, interval)
    assert now < found <= now + interval
    assert (found - due) % interval == 0


def test_a_problem_is_reported_once_and_sampling_goes_on() -> None:
    lost = Reading({0: DeviceSample(load=0.5)}, ("GPU 1 does not answer: GPU is lost",))
    with Run(Scripted(lost)) as run:
        wait_for(lambda: len(run.samples) >= 5)
    assert run.problems == ["GPU 1 does not answer: GPU is lost"]


def test_a_library_that_fails_and_recovers() -> None:
    with Run(Scripted(DriverError("busy"), DriverError("busy"), good())) as run:
        wait_for(lambda: len(run.samples) >= 1)
    assert run.problems == ["busy"]


def test_nothing_is_sent_where_no_device_answers() -> None:
    with Run(Scripted(Reading({}, ("GPU 0 does not answer",)))) as run:
        wait_for(lambda: run.source.reads >= 3)
    assert run.samples == []


def test_a_source_that_does_not_open() -> None:
    with Run(Scripted(good(), open_error=DriverError("no driver"))) as run:
        wait_for(lambda: run.problems == ["no driver"])
    assert run.source.log == ["open"]
    assert run.samples == []
    assert threads() == []


def test_a_stuck_driver_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_TIMEOUT", TICK)
    stuck, freed = threading.Event(), threading.Event()
    source = Scripted(good())

    def read() -> Reading:
        stuck.set()
        freed.wait(PATIENCE)
        return good()

    monkeypatch.setattr(source, "read", read)
    with Run(source) as run:
        assert stuck.wait(PATIENCE)
    assert len(run.problems) == 1
    assert "does not answer" in run.problems[0]
    freed.set()
    wait_for(lambda: threads() == [])


def test_stopping_twice_or_before_the_start_does_nothing() -> None:
    run = Run(Scripted(good()))
    run.sampler.stop()
    assert run.source.log == []
    with run:
        pass
    run.sampler.stop()
    assert run.source.log == ["open", "close"]
