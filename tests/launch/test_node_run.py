"""One launch on this node, from its command to its files."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Event, Metrics, Outcome, Started
from milabench_ddp.launch import node_run
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.results.file_writer import FileWriter
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.samples import DeviceSample
from tests.support.hung_disk import HungDisk
from tests.support.launches import launch
from tests.support.node_runs import HEADER, LONG, RATE


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
