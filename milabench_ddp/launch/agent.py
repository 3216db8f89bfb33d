"""The agent of one node: runs the launches of its node, one after another, and writes its files."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..config.schema import Benchmark
from ..events import Outcome
from ..plan.command import Launch
from ..results.run_dir import RunDir
from ..results.runfile import BenchmarkState, LaunchState, RunState
from .inbox import Inbox
from .runner import Onlooker, Runner
from .supervise import LaunchEnd
from .verdict import worst


class Watcher(Onlooker, Protocol):
    """Who looks on while benchmarks run: the terminal."""

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """A launch is about to start."""

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        """A benchmark has ended, with all its repeats; or it was cancelled before it began."""


@dataclass(frozen=True)
class Job:
    """A benchmark and its launches, one for each repeat."""

    benchmark: Benchmark
    launches: tuple[Launch, ...]


class Agent:
    """Runs jobs and keeps ``run.json`` true; a failing benchmark never ends the suite."""

    def __init__(
        self, rundir: RunDir, state: RunState, runner: Runner, watcher: Watcher, inbox: Inbox
    ) -> None:
        self._rundir, self._state = rundir, state
        self._runner, self._watcher, self._inbox = runner, watcher, inbox

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
        return self._runner.run(launch, self._inbox, self._watcher)

    def _save(self) -> None:
        self._state.save(self._rundir.run_json)


def _state(launch: Launch, end: LaunchEnd) -> LaunchState:
    skews = end.start_skew_ms, end.begin_skew_ms
    return LaunchState(launch.repeat, end.outcome, end.reason, *skews, list(end.processes))
