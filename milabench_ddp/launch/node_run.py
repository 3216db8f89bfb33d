"""Runs one launch on this node: supervises it, samples its devices and writes its files."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from ..events import Data, Event, Note
from ..machine.backends import BACKENDS
from ..machine.devices import Device
from ..monitor.sampler import INTERVAL, Sampler
from ..plan.launch import Launch, Process
from ..results.run_dir import RunDir
from ..results.state import LaunchState
from ..results.write import DataHeader, LaunchWriter
from ..samples import DeviceSample, gpudata
from .stop_requests import StopRequests
from .supervisor import Supervisor

TRACES = "MILABENCH_TRACES"  # the folder for the files that a program writes beside its metrics


class SampleRouter:
    """Passes the monitor's samples to the processes that use the devices.

    The monitor's thread calls ``route`` and ``report_problem``, the main thread ``set_target``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the two attributes below
        self._processes: Sequence[Process] = ()
        self._emit: Callable[[Event], None] = lambda _: None

    def set_target(self, processes: Sequence[Process], emit: Callable[[Event], None]) -> None:
        """From now on the devices belong to these processes, and ``emit`` gets their samples."""
        with self._lock:
            self._processes, self._emit = processes, emit

    def route(self, when: float, samples: Mapping[int, DeviceSample]) -> None:
        """Pass on samples of all devices, by index, taken at ``when`` (epoch seconds)."""
        with self._lock:
            for process in self._processes:
                own = {i: samples[i] for i in process.devices if i in samples}
                if own:
                    self._emit(Data(process.name, when, gpudata(when, own)))

    def report_problem(self, text: str) -> None:
        """Write a problem of the monitor into the results of each running process."""
        with self._lock:
            for process in self._processes:
                self._emit(Note(process.name, time.time(), "message", text))


@contextmanager
def device_monitor(
    arch: str, devices: Sequence[Device], interval: float | None, router: SampleRouter
) -> Iterator[None]:
    """Sample the devices every ``interval`` seconds; 0 turns it off, None is the default."""
    source = BACKENDS[arch].source(devices)
    interval = INTERVAL if interval is None else interval
    if source is None or not interval:
        yield
        return
    sampler = Sampler(source, interval, router.route, router.report_problem)
    sampler.start()
    try:
        yield
    finally:
        sampler.stop()


class LaunchRunner:
    """Runs launches on this node, one at a time, each with a writer of its own.

    Args:
        run_dir: the folder for the files.
        header: the start of each data file.
        router: the router of the samples of this node's devices.
        environ: the environment to which each process's own is added.
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        run_dir: RunDir,
        header: DataHeader,
        router: SampleRouter,
        environ: Mapping[str, str],
        grace: float,
    ) -> None:
        self._run_dir, self._header, self._router = run_dir, header, router
        self._environ, self._grace = environ, grace

    def run(
        self, launch: Launch, requests: StopRequests, emit: Callable[[Event], None]
    ) -> LaunchState:
        """Run one launch to its end; ``emit`` gets each event after it is written.

        Raises:
            RunDirError: a file cannot be written; nothing of the launch runs any more.
        """
        folder = self._run_dir.benchmark(launch.benchmark.name)
        environ = {**self._environ, TRACES: str(folder)}
        with closing(LaunchWriter(self._run_dir, launch, self._header)) as writer:
            writer.write_header()

            def write_and_emit(event: Event) -> None:
                writer.write(event)
                emit(event)

            supervisor = Supervisor(launch, environ, requests, write_and_emit, self._grace)
            self._router.set_target(launch.processes, supervisor.post)
            try:
                return supervisor.run()
            finally:
                self._router.set_target((), supervisor.post)
                for event in supervisor.take_posted():
                    writer.write(event)
