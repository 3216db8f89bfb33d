"""One launch on this node, from its command to its files, and the samples of its devices."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Data, Event, Note, Outcome
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter, device_monitor
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import DataHeader
from milabench_ddp.samples import DeviceSample
from tests.support.launches import launch

RATE = """
import json, os
print(os.environ["MILABENCH_TRACES"], flush=True)
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 7.0, "units": "items/s"}) + "\\n")
"""
HEADER = DataHeader("r", "cpu", {})
DEVICES = (Device(0, "0"),)


def test_each_event_is_written_and_emitted(tmp_path: Path, requests: StopRequests) -> None:
    router, events = SampleRouter(), list[Event]()
    data = tmp_path / "b.D0.data"

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Data) and "rate" in event.payload:
            assert '"rate": 7.0' in data.read_text()  # written before it is emitted
            router.route(5.0, {0: DeviceSample(load=0.5)})

    runner = LaunchRunner(RunDir(tmp_path), HEADER, router, os.environ, 1.0)
    end = runner.run(launch(RATE), requests, emit)
    assert (end.outcome, end.processes[0].told.usable) == (Outcome.OK, 1)
    assert data.read_text().count('"rate": 7.0') == 1
    assert data.read_text().count('"gpudata"') == 1  # also one that came when all was over
    assert (tmp_path / "b.D0.stdout").read_text() == f"{tmp_path / 'b'}\n"
    router.route(6.0, {0: DeviceSample(load=0.5)})  # the devices belong to no process any more
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


def test_samples_go_to_the_process_whose_device_they_show() -> None:
    router, events = SampleRouter(), list[Event]()
    router.route(1.0, {0: DeviceSample(load=0.5)})  # nothing runs yet
    router.set_target(launch("pass", "pass").processes, events.append)
    router.route(
        2.0, {0: DeviceSample(load=0.25), 1: DeviceSample(load=0.75), 7: DeviceSample(load=1.0)}
    )
    router.report_problem("GPU 1 is lost")
    loads = {event.tag: event.payload["gpudata"] for event in events if isinstance(event, Data)}
    assert loads == {"b.D0": {"0": {"load": 0.25}}, "b.D1": {"1": {"load": 0.75}}}
    assert [(event.tag, event.data) for event in events if isinstance(event, Note)] == [
        ("b.D0", "GPU 1 is lost"),
        ("b.D1", "GPU 1 is lost"),
    ]


@contextmanager
def one_device() -> Iterator[Callable[[], Reading]]:
    yield lambda: Reading({0: DeviceSample(load=0.5)})


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_slots_of_a_cpu_have_no_sensors() -> None:
    with device_monitor("cpu", DEVICES, 0.1, SampleRouter()):
        assert "sampler" not in threads()


@pytest.mark.parametrize(("interval", "samples"), [(0.0, False), (0.1, True), (None, True)])
def test_devices_are_sampled_unless_the_interval_is_zero(
    monkeypatch: pytest.MonkeyPatch, interval: float | None, *, samples: bool
) -> None:
    monkeypatch.setattr(BACKENDS["cuda"], "source", lambda devices: one_device())
    with device_monitor("cuda", DEVICES, interval, SampleRouter()):
        assert ("sampler" in threads()) is samples
    assert "sampler" not in threads()
