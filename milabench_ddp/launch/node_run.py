"""Runs one launch on this node: supervises it, samples the node and writes its files."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from msgspec.structs import asdict, replace

from ..config.schema import VALIDATE, Benchmark
from ..config.xids import explained
from ..errors import contained
from ..events import Clock, Data, Emit, Event, Note
from ..machine.backends import BACKENDS
from ..machine.backends.backend import Reading
from ..machine.devices import Device
from ..machine.sampler import INTERVAL, HostReader, Sampler
from ..plan.launch import Launch, Process
from ..results.file_writer import FileWriter
from ..results.run_dir import RunDir
from ..results.state import LaunchState, Survivor
from ..results.write import DataHeader, LaunchWriter
from ..samples import DeviceProblem, gpudata, hostdata
from .evidence_keeper import EvidenceKeeper
from .reap import is_alive
from .stop_requests import StopRequests
from .supervisor import Supervisor

TRACES = "MILABENCH_TRACES"  # the folder for the files that a program writes beside its metrics


class SampleRouter:
    """Passes what the monitor reads to the processes that use the devices.

    The monitor's thread calls ``route``, the main thread the other methods. A problem is told to
    each process of a launch once, with the time since when it is known.
    """

    def __init__(self) -> None:
        self.monitor: Sampler | None = None
        self._lock = threading.Lock()  # guards the attributes below
        self._processes: Sequence[Process] = ()
        self._emit: Emit = lambda _: None
        self._problems: dict[DeviceProblem, float] = {}  # of the last reading, since when
        self._told: set[tuple[str, str]] = set()  # the process and the sentence

    def set_target(self, processes: Sequence[Process], emit: Emit) -> None:
        with self._lock:
            self._processes, self._emit = processes, emit
            self._told.clear()
            self._tell_problems()

    def route(self, when: float, reading: Reading) -> None:
        """Pass on a reading of all devices, taken at ``when`` (epoch seconds)."""
        with self._lock:
            # What happens while nothing runs is told to the next launch.
            known = {} if self._processes else dict(self._problems)
            for problem in map(explained, reading.problems):
                known[problem] = self._problems.get(problem, when)
            self._problems = known
            self._tell_problems()
            for process in self._processes:
                own = {i: reading.samples[i] for i in process.devices if i in reading.samples}
                if own:
                    self._emit(Data(process.name, when, gpudata(when, own)))
            if self._processes and reading.host is not None:  # of several, the first tells it
                name = self._processes[0].name
                self._emit(Data(name, when, hostdata(when, reading.host)))

    def tell(self, found: Iterable[DeviceProblem]) -> None:
        """Tell the launch that runs what the monitor does not see."""
        with self._lock:
            for problem in map(explained, found):
                self._tell(problem)

    def settle(self, *, reads: bool) -> None:
        """Wait for the monitor, which says if it hangs; with ``reads`` it reads at once."""
        if self.monitor is not None:
            self.monitor.read_now() if reads else self.monitor.settle()

    def _tell_problems(self) -> None:
        for problem, since in self._problems.items():
            self._tell(replace(problem, time=since))

    def _tell(self, problem: DeviceProblem) -> None:
        for process in self._processes:
            concerns = problem.device is None or problem.device in process.devices
            if concerns and (process.name, problem.sentence) not in self._told:
                self._told.add((process.name, problem.sentence))
                self._emit(Note(process.name, problem.time, "device_problem", asdict(problem)))


@contextmanager
def device_monitor(
    arch: str, devices: Sequence[Device], interval: float | None, router: SampleRouter
) -> Iterator[None]:
    """Sample devices and host every ``interval`` seconds; 0 turns it off, None is the default."""
    source = BACKENDS[arch].source(devices) or nullcontext(lambda: Reading({}))
    interval = INTERVAL if interval is None else interval
    if not interval:
        yield
        return
    router.monitor = Sampler(source, interval, router.route, HostReader())
    router.monitor.start()
    try:
        yield
    finally:
        router.monitor.stop()


class LaunchRunner:
    """Runs launches on this node, one at a time, each with a writer of its own.

    Args:
        survivors: what earlier launches on any node have left; those that live here are told.
        keeper: of the evidence of this node; None for one that keeps none.
    """

    def __init__(
        self,
        run_dir: RunDir,
        header: DataHeader,
        router: SampleRouter,
        environ: Mapping[str, str],
        grace: float,  # seconds between SIGTERM and SIGKILL
        clock: Clock = time.monotonic,
        survivors: Iterable[Survivor] = (),
        keeper: EvidenceKeeper | None = None,
    ) -> None:
        self.keeper, self._since = keeper, time.time()  # until when the kernel's log was read
        self._survivors = tuple(survivors)
        self._run_dir, self._header, self._router = run_dir, header, router
        self._environ, self._grace, self._clock = environ, grace, clock

    def beside(self, run: RunDir) -> "LaunchRunner":
        header = replace(self._header, run_name=run.name)
        return LaunchRunner(run, header, self._router, self._environ, self._grace, self._clock)

    def run(self, launch: Launch, requests: StopRequests, emit: Emit) -> LaunchState:
        """Run one launch to its end; ``emit`` gets each event, which is on its way to the disk.

        Raises:
            RunDirError: a file cannot be written; nothing of the launch runs any more.
        """
        earlier = tuple(each for each in self._survivors if is_alive(each.pid, each.born))
        folder = self._run_dir.benchmark(launch.benchmark.name)
        environ = {**self._environ, TRACES: str(folder)}
        launch = launch.called_with(environ)
        files = FileWriter(requests.wake)
        try:
            writer = LaunchWriter(self._run_dir, launch, self._header, files)
            writer.write_header()

            def write_and_emit(event: Event) -> None:
                writer.write(event)
                emit(event)

            supervisor = Supervisor(
                launch, environ, requests, write_and_emit, self._grace, self._clock,
                files.has_room, partial(self._witness, launch.benchmark),
            )  # fmt: skip
            self._router.set_target(launch.processes, supervisor.post)
            try:
                state = supervisor.run()
                first, *others = state.processes
                self._survivors = earlier + state.survivors
                first = replace(first, survivors=earlier + first.survivors)
                state = replace(state, processes=(first, *others))
                # The end of a failure may come before the monitor sees its reason.
                self._router.settle(reads=not state.verdict.is_ok)
                if VALIDATE in launch.benchmark.tags or not state.verdict.is_ok:
                    self._read_log()
                return state
            finally:
                self._router.set_target((), supervisor.post)
                for event in supervisor.take_posted():
                    writer.write(event)
        finally:
            files.close(is_hurried=lambda: requests.stops > 1)

    def _read_log(self) -> None:
        """Tell the launch that runs what the kernel's log has had since it was read last."""
        from ..machine.kernel_log import reported  # few launches need it

        now = time.time()
        gpus = (self._header.meta.get("accelerators") or {}).get("gpus") or {}
        with contained(lambda _: None):  # not all hosts have the tools
            self._router.tell(each for each in reported(gpus) if each.time >= self._since)
        self._since = now

    def _witness(self, benchmark: Benchmark, state: str) -> None:
        if self.keeper is not None and VALIDATE in benchmark.tags:
            self.keeper.take(benchmark.name, state)
