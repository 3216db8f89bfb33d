"""One launch on this node, from its command to its files, and the samples of its devices."""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Data, Event, Metrics, Note, Outcome, Started
from milabench_ddp.launch import node_run
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter, device_monitor
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine import sampler
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from milabench_ddp.results.file_writer import FileWriter
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import DataHeader
from milabench_ddp.samples import DeviceProblem, DeviceSample, HostSample
from tests.support.hung_disk import HungDisk
from tests.support.launches import launch
from tests.support.wait import PATIENCE

RATE = """
import json, os
print(os.environ["MILABENCH_TRACES"], flush=True)
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 7.0, "units": "items/s"}) + "\\n")
"""
HEADER = DataHeader("r", "cpu", {})
DEVICES = (Device(0, "0"),)
LONG = 600.0  # seconds


def test_each_event_is_written_and_emitted(tmp_path: Path, requests: StopRequests) -> None:
    router, events = SampleRouter(), list[Event]()
    data = tmp_path / "b.D0.data"

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Metrics):
            router.route(5.0, Reading({0: DeviceSample(load=0.5)}))

    runner = LaunchRunner(RunDir(tmp_path), HEADER, router, os.environ, 1.0)
    end = runner.run(launch(RATE), requests, emit)
    assert (end.outcome, end.processes[0].told.usable) == (Outcome.OK, 1)
    assert data.read_text().count('"rate": 7.0') == 1
    assert data.read_text().count('"gpudata"') == 1  # also one that came when all was over
    assert (tmp_path / "b.D0.stdout").read_text() == f"{tmp_path / 'b'}\n"
    router.route(
        6.0, Reading({0: DeviceSample(load=0.5)})
    )  # the devices belong to no process any more
    assert data.read_text().count('"gpudata"') == 1


def test_a_folder_that_is_gone_is_an_error_and_nothing_runs(
    tmp_path: Path, requests: StopRequests
) -> None:
    mark = tmp_path / "ran"
    run_dir = RunDir(tmp_path / "gone")
    runner = LaunchRunner(run_dir, HEADER, SampleRouter(), os.environ, 1.0)
    with pytest.raises(RunDirError, match="No such file"):
        runner.run(launch(f"open({str(mark)!r}, 'w')"), requests, lambda _: None)
    assert not mark.exists()


class SmallWriter(FileWriter):
    """A writer that is full soon, and waits for no one at the end."""

    made: ClassVar[list["SmallWriter"]] = []

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__(wake, capacity=1 << 16)
        self.made.append(self)

    def close(self, patience: float = 0.01, is_hurried: Callable[[], bool] = bool) -> None:
        super().close(patience, is_hurried)


FLOOD = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
channel = os.open(os.environ["MILABENCH_METRICS"], os.O_WRONLY)
while True:
    os.write(channel, b'{"task": "train", "rate": 1.5}\\n' * 100)
    os.write(1, b"a line\\n" * 100)
"""


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_disk_that_hangs_keeps_no_launch_beyond_its_deadline(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch, *, is_asked: bool
) -> None:
    """Nor one that is asked to stop, twice: its programs ignore SIGTERM, and wait for the disk."""
    disk = HungDisk(monkeypatch)
    monkeypatch.setattr(node_run, "FileWriter", SmallWriter)
    is_late = False

    def clock() -> float:
        nonlocal is_late
        if not is_late and SmallWriter.made and not SmallWriter.made[-1].has_room():
            is_late = not is_asked
            for _ in range(2 * is_asked):
                requests.stop()
        return time.monotonic() + (2 * LONG if is_late else 0.0)

    def emit(event: Event) -> None:
        if isinstance(event, Started):
            disk.hang()

    runner = LaunchRunner(RunDir(tmp_path), HEADER, SampleRouter(), os.environ, 0.1, clock)
    with pytest.raises(RunDirError, match=r"cannot write .*: the disk has not answered for"):
        runner.run(launch(FLOOD), requests, emit)
    assert (tmp_path / "b.D0.stdout").read_bytes() == b""
    disk.go_on()
    writer = SmallWriter.made.pop()
    writer.flush()  # what was read is written, after all
    assert b'"rate": 1.5' in (tmp_path / "b.D0.data").read_bytes()


def test_a_disk_that_goes_on_in_time_loses_nothing(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is behind, programs wait."""
    disk = HungDisk(monkeypatch)
    monkeypatch.setattr(node_run, "FileWriter", SmallWriter)

    def clock() -> float:
        if not SmallWriter.made[-1].has_room():
            disk.go_on()
        return time.monotonic()

    def emit(event: Event) -> None:
        if isinstance(event, Started):
            disk.hang()

    runner = LaunchRunner(RunDir(tmp_path), HEADER, SampleRouter(), os.environ, 0.1, clock)
    monkeypatch.setattr(SmallWriter, "close", FileWriter.close)
    text = FLOOD.replace("while True", "for _ in range(500)")
    state = runner.run(launch(text), requests, emit)
    assert (state.outcome, state.processes[0].told.usable) == (Outcome.OK, 50_000)
    assert (tmp_path / "b.D0.data").read_bytes().count(b'"rate": 1.5') == 50_000
    assert (tmp_path / "b.D0.stdout").read_bytes() == b"a line\n" * 50_000


def test_a_flood_of_output_keeps_its_first_and_last_part(
    tmp_path: Path, requests: StopRequests
) -> None:
    text = RATE + "for number in range(20_000): print('line', number)"
    small = launch(text)
    small = replace(small, benchmark=replace(small.benchmark, max_output=0.01))
    runner = LaunchRunner(RunDir(tmp_path), HEADER, SampleRouter(), os.environ, 1.0)
    assert runner.run(small, requests, lambda _: None).outcome is Outcome.OK
    kept = (tmp_path / "b.D0.stdout").read_text().splitlines()
    assert kept[1:3] == ["line 0", "line 1"]
    assert kept[-1] == "line 19999"
    (out,) = [line for line in kept if line.endswith(" are left out here]")]
    printed = [line for line in kept if not line.startswith("[milabench: ")]
    assert len(printed) + int(out.split()[1].replace(",", "")) == 20_001
    data = (tmp_path / "b.D0.data").read_text()
    assert data.count('"event": "line"') == len(kept)
    assert f'"event": "message", "data": "stdout: {out.split()[1]} lines (' in data


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
    assert told(events) == [
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
