"""One launch on this node: supervised, sampled, and written to its files."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..events import Data, Event, Note
from ..plan.command import Launch, Process
from ..results.run_dir import RunDir
from ..results.write import Heading, LaunchWriter
from ..samples import Sample, gpudata
from .inbox import Inbox
from .supervise import LaunchEnd, Supervisor

TRACES = "MILABENCH_TRACES"  # the folder for what a program writes beside its metrics


class Onlooker(Protocol):
    """Who looks on while a launch runs."""

    def see(self, event: Event) -> None:
        """Something happened."""

    def tick(self) -> None:
        """Time has passed; called at least once a second."""


class Samples:
    """Sorts the monitor's samples to the processes whose devices they are; its thread calls it."""

    def __init__(self) -> None:
        self._put: Callable[[Event], None] = lambda _: None
        self._processes: Sequence[Process] = ()

    def watch(self, processes: Sequence[Process], put: Callable[[Event], None]) -> None:
        """From now on the devices belong to these processes, and ``put`` gets what they show."""
        self._processes, self._put = (), put  # the other thread never sees old ones with a new put
        self._processes = processes

    def __call__(self, when: float, samples: Mapping[int, Sample]) -> None:
        """Samples of all devices at a time (epoch seconds), each by its index."""
        for process in self._processes:
            mine = {i: samples[i] for i in process.devices if i in samples}
            if mine:
                self._put(Data(process.name, when, gpudata(when, mine)))

    def problem(self, text: str) -> None:
        """The monitor cannot read a device: said in the results of each process under way."""
        for process in self._processes:
            self._put(Note(process.name, time.time(), "message", text))


class Runner:
    """Runs launches one at a time, each with a writer of its own.

    Args:
        rundir: where the files go.
        heading: what each of them says of its run.
        samples: the monitor's, which are told whose devices they are.
        environ: the environment to which each process's own is added.
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        rundir: RunDir,
        heading: Heading,
        samples: Samples,
        environ: Mapping[str, str],
        grace: float,
    ) -> None:
        self._rundir, self._heading, self._samples = rundir, heading, samples
        self._environ, self._grace = environ, grace

    def run(self, launch: Launch, inbox: Inbox, onlooker: Onlooker) -> LaunchEnd:
        """See one launch through; requests to stop come by the inbox."""
        with LaunchWriter(self._rundir, launch, self._heading) as writer:
            writer.head()

            def emit(event: Event) -> None:
                writer.write(event)
                onlooker.see(event)

            self._samples.watch(launch.processes, inbox.put)
            try:
                folder = self._rundir.script(launch.benchmark.name).parent
                environ = {**self._environ, TRACES: str(folder)}
                supervisor = Supervisor(environ, emit, onlooker.tick, inbox, self._grace)
                return supervisor.run(launch)
            finally:
                self._samples.watch((), inbox.put)
                for event in inbox.take():
                    writer.write(event)
