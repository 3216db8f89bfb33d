import errno
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.machine import sampler as module
from milabench_ddp.machine.backends.backend import DriverError, Reading
from milabench_ddp.machine.sampler import Sampler, next_due
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
    """A sampler with what it has read, stopped at the end."""

    def __init__(self, source: Scripted, interval: float = TICK) -> None:
        self.source = source
        self.readings: list[tuple[float, Reading]] = []
        self.sampler = Sampler(source, interval, self._sink)

    def _sink(self, when: float, reading: Reading) -> None:
        self.readings.append((when, reading))

    @property
    def problems(self) -> list[str]:
        """The sentences of all readings."""
        found = []
        for _, reading in self.readings:
            found += [problem.sentence for problem in reading.problems]
        return found

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
        wait_for(lambda: len(run.readings) >= 3)
    assert [reading.samples[0].load for _, reading in run.readings[:3]] == [0.1, 0.2, 0.3]
    times = [when for when, _ in run.readings]
    assert before <= times[0]
    assert times == sorted(times)
    assert run.problems == []
    assert run.source.log == ["open", "close"]
    assert threads() == []


def test_it_reads_at_once_and_stops_within_an_interval() -> None:
    with Run(Scripted(good()), interval=LONG) as run:
        wait_for(lambda: len(run.readings) == 1)
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


def test_a_library_that_fails_is_told_and_may_recover() -> None:
    with Run(Scripted(DriverError("busy"), DriverError("busy"), good())) as run:
        wait_for(lambda: len(run.readings) >= 3)
    assert run.problems == ["busy", "busy"]
    assert run.readings[2][1] == good()


def test_a_source_that_does_not_open_is_told_in_each_reading() -> None:
    with Run(Scripted(good(), open_error=DriverError("no driver"))) as run:
        wait_for(lambda: len(run.readings) >= 2)
    assert set(run.problems) == {"no driver"}
    assert run.source.log == ["open"]
    assert run.source.reads == 0
    assert threads() == []


def test_a_reading_that_is_asked_for_is_taken_at_once() -> None:
    with Run(Scripted(good(0.1), good(0.2)), interval=LONG) as run:
        wait_for(lambda: len(run.readings) == 1)
        run.sampler.read_now()
        assert [reading for _, reading in run.readings] == [good(0.1), good(0.2)]


def test_a_stuck_driver_is_told_and_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", TICK)
    stuck, freed = threading.Event(), threading.Event()
    source = Scripted(good())

    def read() -> Reading:
        stuck.set()
        freed.wait(PATIENCE)
        return good()

    monkeypatch.setattr(source, "read", read)
    with Run(source) as run:
        assert stuck.wait(PATIENCE)
        run.sampler.read_now()
        assert len(run.problems) == 1
        run.sampler.settle()
        assert run.problems == run.problems[:1] * 2
    assert "has not answered" in run.problems[0]
    freed.set()
    wait_for(lambda: threads() == [])


def test_a_reading_that_is_under_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", PATIENCE)
    source, begun = Scripted(good(0.1), good(0.2)), threading.Event()
    read = source.read

    def slow() -> Reading:
        begun.set()
        time.sleep(TICK)
        return read()

    source.read = slow
    with Run(source, interval=LONG) as run:
        assert begun.wait(PATIENCE)
        run.sampler.settle()
        assert [reading for _, reading in run.readings] == [good(0.1)]
        run.sampler.settle()  # none is under way
    assert run.problems == []


def test_stopping_twice_or_before_the_start_does_nothing() -> None:
    run = Run(Scripted(good()))
    run.sampler.stop()
    assert run.source.log == []
    with run:
        pass
    run.sampler.stop()
    assert run.source.log == ["open", "close"]


def test_what_hinders_a_reading_of_the_host_is_told_and_the_next_one_is_made() -> None:
    """As a want of file descriptors, which are the same for the whole command."""
    found: list[Reading] = []

    def host() -> None:
        if len(found) < 2:
            raise OSError(errno.EMFILE, "Too many open files", "/proc/stat")

    sampler = Sampler(Scripted(Reading({})), TICK, lambda _, reading: found.append(reading), host)
    sampler.start()
    wait_for(lambda: len(found) > 3)
    sampler.stop()
    (problem,) = found[0].problems
    assert "Too many open files: /proc/stat" in problem.sentence
    assert not problem.is_fault
    assert found[2].problems == ()
