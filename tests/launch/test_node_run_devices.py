"""What a launch on this node tells of its devices and of its host."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from milabench_ddp.events import Data, Event, Note, Outcome
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter, device_monitor
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine import sampler
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.samples import DeviceProblem, DeviceSample, HostSample
from tests.support.launches import launch
from tests.support.node_runs import HEADER, LONG, RATE
from tests.support.wait import PATIENCE

DEVICES = (Device(0, "0"),)


def test_samples_go_to_the_process_whose_device_they_show() -> None:
    router, events = SampleRouter(), list[Event]()
    router.route(1.0, Reading({0: DeviceSample(load=0.5)}))  # nothing runs yet
    router.set_target(launch("pass", "pass").processes, events.append)
    loads = {0: 0.25, 1: 0.75, 7: 1.0}
    router.route(2.0, Reading({index: DeviceSample(load=load) for index, load in loads.items()}))
    assert [(event.tag, event.payload["gpudata"]) for event in events] == [
        ("b.D0", {"0": {"load": 0.25}}),
        ("b.D1", {"1": {"load": 0.75}}),
    ]


def told(events: list[Event]) -> list[tuple[str, str, float]]:
    """The problems that were told: to whom, what, since when."""
    notes = [
        event for event in events if isinstance(event, Note) and event.kind == "device_problem"
    ]
    return [(event.tag, event.data["sentence"], event.data["time"]) for event in notes]


LOST, ALL = DeviceProblem("GPU 1 is lost", 1), DeviceProblem("the driver does not answer")


def test_a_problem_is_told_once_to_each_process_that_it_concerns() -> None:
    router, events = SampleRouter(), list[Event]()
    router.set_target(launch("pass", "pass").processes, events.append)
    for when in (2.0, 3.0):
        router.route(when, Reading({}, (LOST, ALL)))
    driver = "the driver does not answer"
    assert sorted(told(events)) == [
        ("b.D0", driver, 2.0),
        ("b.D1", "GPU 1 is lost", 2.0),
        ("b.D1", driver, 2.0),
    ]


def test_a_problem_is_told_to_each_launch_while_it_lasts_and_since_when() -> None:
    router, events = SampleRouter(), list[Event]()
    processes = launch("pass", "pass").processes
    router.route(1.0, Reading({}, (LOST,)))  # before the first launch
    for _ in range(2):
        router.set_target(processes, events.append)
        router.set_target((), events.append)
    assert told(events) == [("b.D1", "GPU 1 is lost", 1.0)] * 2
    router.set_target(processes, events.append)
    router.route(2.0, Reading({}))  # it is back
    router.set_target((), events.append)
    router.set_target(processes, events.append)
    assert len(told(events)) == 3
    router.route(3.0, Reading({}, (LOST,)))
    assert told(events)[3:] == [("b.D1", "GPU 1 is lost", 3.0)]


def test_what_happens_between_two_launches_is_told_to_the_next() -> None:
    router, events = SampleRouter(), list[Event]()
    router.route(1.0, Reading({}, (LOST,)))
    router.route(2.0, Reading({}))  # an error that the driver reports once
    router.set_target(launch("pass", "pass").processes, events.append)
    assert told(events) == [("b.D1", "GPU 1 is lost", 1.0)]


def test_after_a_failure_the_devices_are_read_once_more(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program ends within ms of the loss of its GPU: sooner than the monitor looks again."""
    readings = iter([Reading({}), Reading({}, (ALL,)), Reading({})])
    monkeypatch.setattr(BACKENDS["cuda"], "source", lambda devices: scripted(readings))
    router, events = SampleRouter(), list[Event]()
    with device_monitor("cuda", DEVICES, LONG, router):
        for name, text in {"ok": RATE, "bad": "1 / 0"}.items():
            run = RunDir(tmp_path / name)
            run.path.mkdir()
            runner = LaunchRunner(run, HEADER, router, os.environ, 1.0)
            state = runner.run(launch(text), requests, events.append)
    assert state.outcome is Outcome.FAILED
    assert '"the driver does not answer"' in (tmp_path / "bad" / "b.D0.data").read_text()


@contextmanager
def scripted(readings: Iterator[Reading]) -> Iterator[Callable[[], Reading]]:
    yield lambda: next(readings)


@contextmanager
def one_device() -> Iterator[Callable[[], Reading]]:
    yield lambda: Reading({0: DeviceSample(load=0.5)})


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_driver_that_hangs_in_a_good_launch_is_told_too(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the report would say that no device was faulty."""
    hangs, freed = threading.Event(), threading.Event()

    @contextmanager
    def source(devices: object) -> Iterator[Callable[[], Reading]]:
        def read() -> Reading:
            hangs.set()
            freed.wait()
            return Reading({})

        yield read

    monkeypatch.setattr(sampler, "PATIENCE", 0.01)
    monkeypatch.setattr(BACKENDS["cpu"], "source", source)
    router = SampleRouter()
    with device_monitor("cpu", DEVICES, LONG, router):
        assert hangs.wait(PATIENCE)
        runner = LaunchRunner(RunDir(tmp_path), HEADER, router, os.environ, 1.0)
        assert runner.run(launch(RATE), requests, lambda event: None).outcome == Outcome.OK
        freed.set()
    told = (tmp_path / "b.D0.data").read_text()
    assert told.count("the library of the devices has not answered") == 1


def test_what_the_host_does_is_told_by_the_first_process_of_a_launch() -> None:
    router, events = SampleRouter(), list[Event]()
    router.set_target(launch("pass", "pass").processes, events.append)
    router.route(2.0, Reading({}, host=HostSample(cpu=0.5)))
    (event,) = events
    assert (event.tag, event.payload["hostdata"]) == ("b.D0", {"cpu": 0.5})


def test_of_slots_of_a_cpu_the_host_is_sampled() -> None:
    router, seen = SampleRouter(), queue.SimpleQueue[Event]()
    router.set_target(launch("pass").processes, seen.put)
    with device_monitor("cpu", DEVICES, 0.01, router):
        event = seen.get(timeout=PATIENCE)
    assert isinstance(event, Data)
    assert event.payload["hostdata"]["memory"][1] > 0


@pytest.mark.parametrize(("interval", "samples"), [(0.0, False), (0.1, True), (None, True)])
def test_devices_are_sampled_unless_the_interval_is_zero(
    monkeypatch: pytest.MonkeyPatch, interval: float | None, *, samples: bool
) -> None:
    monkeypatch.setattr(BACKENDS["cuda"], "source", lambda devices: one_device())
    with device_monitor("cuda", DEVICES, interval, SampleRouter()):
        assert ("sampler" in threads()) is samples
    assert "sampler" not in threads()
