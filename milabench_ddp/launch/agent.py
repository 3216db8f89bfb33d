"""The agent of one node: runs the launches of its node, one after another, and writes its files."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..config.schema import Benchmark
from ..events import Event, Outcome, Verdict, gravest
from ..plan.launch import Launch
from ..results.run_dir import RunDir
from ..results.runfile import BenchmarkState, LaunchState, RunState
from .node_run import LaunchRunner
from .stop_requests import StopRequests


class Watcher(Protocol):
    """Who looks on while benchmarks run: the terminal."""

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """A launch is about to start."""

    def see(self, event: Event) -> None:
        """Something happened."""

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
        self,
        rundir: RunDir,
        state: RunState,
        runner: LaunchRunner,
        watcher: Watcher,
        inbox: StopRequests,
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
                entry.launches.append(self._run_launch(launch))
        verdict = gravest(Verdict(it.outcome, it.reason) for it in entry.launches)
        entry.outcome, entry.reason = verdict.outcome, verdict.reason
        entry.ended = time.time()
        self._save()
        self._watcher.end(job.benchmark, verdict.outcome, verdict.reason)

    def _run_launch(self, launch: Launch) -> LaunchState:
        self._watcher.begin(launch.benchmark, launch)
        end = self._runner.run(launch, self._inbox, self._watcher.see)
        skews = end.start_skew_ms, end.begin_skew_ms
        return LaunchState(end.repeat, end.outcome, end.reason, *skews, list(end.processes))

    def _save(self) -> None:
        self._state.save(self._rundir.run_json)
