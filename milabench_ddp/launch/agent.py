"""The agent of one node: runs the launches of its node, one after another, and writes its files."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..config.schema import Benchmark
from ..events import Data, Event, Note, Outcome
from ..monitor.sample import Sample, gpudata
from ..plan.command import Launch, Process
from ..results.rundir import RunDir
from ..results.runfile import BenchmarkState, LaunchState, ProcessState, RunState
from ..results.write import Heading, LaunchWriter
from .inbox import Inbox
from .supervise import LaunchEnd, Supervisor
from .verdict import worst

TRACES = "MILABENCH_TRACES"  # the folder for what a program writes beside its metrics


class Watcher(Protocol):
    """Who looks on while benchmarks run: the terminal."""

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """A launch is about to start."""

    def see(self, event: Event) -> None:
        """Something happened."""

    def tick(self) -> None:
        """Time has passed; called at least once a second."""

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        """A benchmark has ended, with all its repeats; or it was cancelled before it began."""


@dataclass(frozen=True)
class Job:
    """A benchmark and its launches, one for each repeat."""

    benchmark: Benchmark
    launches: tuple[Launch, ...]


class Samples:
    """Sorts the monitor's samples to the processes whose devices they are; its thread calls it."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._processes: Sequence[Process] = ()

    def watch(self, processes: Sequence[Process]) -> None:
        """From now on the devices belong to these processes."""
        self._processes = processes

    def __call__(self, when: float, samples: Mapping[int, Sample]) -> None:
        """Samples of all devices at a time (epoch seconds), each by its index."""
        for process in self._processes:
            mine = {i: samples[i] for i in process.devices if i in samples}
            if mine:
                self._inbox.put(Data(process.name, when, gpudata(when, mine)))

    def problem(self, text: str) -> None:
        """The monitor cannot read a device: said in the results of each process under way."""
        for process in self._processes:
            self._inbox.put(Note(process.name, time.time(), "message", text))


class Agent:
    """Runs jobs and keeps ``run.json`` true; a failing benchmark never ends the suite."""

    def __init__(
        self,
        rundir: RunDir,
        state: RunState,
        heading: Heading,
        watcher: Watcher,
        samples: Samples,
        inbox: Inbox,
        environ: Mapping[str, str],
        grace: float,
    ) -> None:
        self._rundir, self._state, self._heading = rundir, state, heading
        self._watcher, self._samples, self._inbox = watcher, samples, inbox
        self._environ, self._grace = environ, grace

    def run(self, jobs: Sequence[Job]) -> Outcome:
        """Run them all: ok, failed where any did not end ok, or cancelled."""
        entries = {entry.name: entry for entry in self._state.benchmarks}
        for job in jobs:
            self._run_job(job, entries[job.benchmark.name])
        outcomes = {entry.outcome for entry in entries.values()}
        if self._inbox.stops:
            outcome = Outcome.CANCELLED
        else:
            outcome = Outcome.OK if outcomes <= {Outcome.OK} else Outcome.FAILED
        self._state.outcome, self._state.ended = outcome, time.time()
        self._save()
        return outcome

    def _run_job(self, job: Job, entry: BenchmarkState) -> None:
        if self._inbox.stops:
            entry.outcome, entry.reason = Outcome.CANCELLED, "stopped before it began"
            self._watcher.end(job.benchmark, Outcome.CANCELLED, entry.reason)
            return
        entry.outcome, entry.started = "running", time.time()
        self._save()
        for launch in job.launches:
            if not self._inbox.stops:
                entry.launches.append(_state(launch, self._run_launch(launch)))
        outcome, reason = worst([(launch.outcome, launch.reason) for launch in entry.launches])
        entry.outcome, entry.reason, entry.ended = outcome, reason, time.time()
        self._save()
        self._watcher.end(job.benchmark, outcome, reason)

    def _run_launch(self, launch: Launch) -> LaunchEnd:
        self._watcher.begin(launch.benchmark, launch)
        with LaunchWriter(self._rundir, launch, self._heading) as writer:
            writer.head()

            def emit(event: Event) -> None:
                writer.write(event)
                self._watcher.see(event)

            self._samples.watch(launch.processes)
            try:
                folder = self._rundir.script(launch.benchmark.name).parent
                environ = {**self._environ, TRACES: str(folder)}
                supervisor = Supervisor(environ, emit, self._watcher.tick, self._inbox, self._grace)
                return supervisor.run(launch)
            finally:
                self._samples.watch(())
                for event in self._inbox.take():
                    writer.write(event)

    def _save(self) -> None:
        self._state.save(self._rundir.run_json)


def _state(launch: Launch, end: LaunchEnd) -> LaunchState:
    processes = [
        ProcessState(p.tag, p.pid, p.returncode, p.outcome, p.reason, p.started, p.ended)
        for p in end.processes
    ]
    return LaunchState(
        launch.repeat, end.outcome, end.reason, end.start_skew_ms, end.begin_skew_ms, processes
    )
