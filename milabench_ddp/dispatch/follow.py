"""Follows a run of other processes through its run folder, and the jobs of a run to their end.

A follower can stop and start at any time. One command alone writes how a run with jobs ended.
"""

import shlex
import time
from collections.abc import Callable
from contextlib import closing, nullcontext

from ..events import Clock, Outcome, Status, Verdict
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..progress import ProgressObserver, Span
from ..results.isolation import read_isolation
from ..results.lock import alive, is_alive
from ..results.node_state import read_nodes
from ..results.read_state import read_benchmark, read_header, require_state
from ..results.records import mapping_or_empty
from ..results.run_dir import RunDir, save_state
from ..results.state import BenchmarkState, RunHeader, overall
from .job_follower import FORGET, JobFollower
from .node_records import NodeTeller
from .repeats import tell_launches
from .run_context import end_unrun
from .schedulers import Scheduler, scheduler_of

ASK = 5.0  # seconds between questions to the scheduler
LOOK = 0.5  # seconds between looks into the folder


class RunFollower:
    """Tells an observer of changes in the files of a run and in its jobs.

    Args:
        header: the header of the run; it keeps the states of the jobs in it up to date.
        scheduler: has the jobs; None if another command runs the benchmarks.
        tells_ended: whether to tell the observer of benchmarks that ended before.
        forget: seconds after which a job that the scheduler does not know has ended.
    """

    def __init__(
        self,
        run: RunDir,
        header: RunHeader,
        observer: ProgressObserver,
        scheduler: Scheduler | None = None,
        *,
        tells_ended: bool = False,
        forget: float = FORGET,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run, self._observer, self._clock, self._sleep = run, observer, clock, sleep
        self._may_start_again = bool(header.jobs)  # a job that has lost its coordinator
        self._jobs = None
        if scheduler is not None:
            self._jobs = JobFollower(run, header.jobs, scheduler, observer, clock, forget)
        self.statuses = dict.fromkeys(header.suite, Status.WAITING)
        self._open = list(header.suite)  # those without a final result, or that are isolated
        configured = ((name, mapping_or_empty(each)) for name, each in header.suite.items())
        self._isolating = {name for name, each in configured if each.get("isolate")}
        self._probes: dict[str, int] = {}  # how many of each have ended
        self._teller = NodeTeller(observer)
        if not tells_ended:
            self._teller.ignore(read_nodes(run))
        self._left: set[str] = set()  # those whose coordinator has ended before them
        self._last: dict[str, BenchmarkState] = {}  # as they were at the look before
        for name in header.suite:
            state = read_benchmark(run, name)
            if state is not None and self._is_done(state):
                self.statuses[name] = state.status
                self._open.remove(name)
                if tells_ended:
                    observer.end(name, state.verdict, state.ran)

    def follow(self, until: Callable[[], bool]) -> bool:
        """Look until the run has ended, or ``until`` is true then; returns whether it has ended."""
        next_ask = self._clock()
        while True:
            self.look()
            if not self._open and self._jobs is not None:
                return True
            if self._clock() >= next_ask:
                if self.has_ended():
                    return True
                # fewer seconds when only the jobs have not ended
                have_ended = all(self.statuses[name].has_ended for name in self._open)
                have_ended = have_ended and self._isolating.isdisjoint(self._open)
                pause = LOOK if self._jobs is None else 1.0 if have_ended else ASK
                next_ask = self._clock() + pause
            if until():
                return False
            self._sleep(LOOK)

    def look(self) -> None:
        self._teller.tell(read_nodes(self._run))
        for name in list(self._open):
            state = read_benchmark(self._run, name)
            if state is not None:
                self._compare(state)

    def _compare(self, state: BenchmarkState) -> None:
        name, before = state.name, self.statuses[state.name]
        last = self._last.get(name, BenchmarkState(name))
        self._last[name] = state
        if state.status is Status.RUNNING:
            self.statuses[name] = state.status
            goes_on = last.is_paused and not state.is_paused
            if before is not Status.RUNNING or name in self._left or goes_on:
                ago = max(0.0, time.time() - (state.started or time.time()))
                self._observer.begin(name, state.nodes, state.max_duration, ago)
            self._left.discard(name)
            if state.launches and len(state.launches) != len(last.launches):
                tell_launches(state, self._observer)
        elif state.ended is not None:
            if state.ended != last.ended:
                self._end(name, state.verdict, state.ran)
            if self._is_done(state):
                self._open.remove(name)
        elif state.status is Status.LOST and not self._may_start_again:
            if before is not Status.LOST:
                self._end(name, state.verdict)
        elif state.status is Status.LOST or before is Status.RUNNING:
            self.statuses[name] = Status.RUNNING  # its job may start again and go on with it
            if name not in self._left:
                self._left.add(name)
                self._observer.message(f"{name}: {state.reason or 'it waits again'}")

    def _is_done(self, state: BenchmarkState) -> bool:
        """Whether nothing more is run of a benchmark; its isolation begins after its end."""
        if not state.is_final or state.name not in self._isolating:
            return state.is_final
        isolation = read_isolation(self._run, state.name)
        if isolation is not None and len(isolation.probes) != self._probes.get(state.name, 0):
            count = self._probes[state.name] = len(isolation.probes)
            self._observer.message(f"isolation of {state.name}: {count} probes have ended")
        return isolation is not None and not isolation.is_open

    def has_ended(self) -> bool:
        """Ask once whether the run has ended; then each of its benchmarks has a verdict."""
        if self._jobs is None:
            header = require_state(self._run).header
            # No command follows the jobs now: the next one to do so writes how the run ended.
            has_ended = header.outcome is not None and bool(header.ended or not header.jobs)
        else:
            has_ended = self._jobs.have_ended()
        if has_ended:
            self.look()
            if self._jobs is not None:
                self._settle(self._jobs)
        return has_ended

    def _settle(self, jobs: JobFollower) -> None:
        for name in self._open:
            before = self.statuses[name]
            if before.has_ended:
                continue  # its coordinator has said why
            verdict = jobs.verdict(name, has_begun=before is Status.RUNNING)
            end_unrun(self._run, name, verdict, interrupted=True)
            self._end(name, verdict)
        self._open.clear()

    def _end(self, name: str, verdict: Verdict, ran: Span | None = None) -> None:
        self.statuses[name] = Status(verdict.outcome)
        self._observer.end(name, verdict, ran)


def follow_jobs(
    run: RunDir,
    header: RunHeader,
    observer: ProgressObserver,
    scheduler: Scheduler,
    *,
    cancels: bool,
) -> Outcome:
    """Follow a run's jobs to their end; with ``cancels``, Ctrl-C cancels them.

    The caller holds the run's lock: this writes how the run ended.
    """
    with closing(StopRequests()) as requests, stopped_by_signals(requests):
        follower = RunFollower(run, header, observer, scheduler, tells_ended=not cancels)
        has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended and cancels:
            observer.message("cancelling the jobs")
            scheduler.cancel([job.id for job in header.jobs if not job.state])
            requests.stops = 0
            has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended:
            return _left(run, observer)
        return _write_end(run, header, follower)


def _left(run: RunDir, observer: ProgressObserver) -> Outcome:
    """Tell the user that the run goes on without being watched, and return its outcome."""
    path = shlex.quote(str(run.path))
    observer.message(f"no longer watched; the run goes on: `milabench watch {path}` follows it")
    return Outcome.CANCELLED


def _write_end(run: RunDir, header: RunHeader, follower: RunFollower) -> Outcome:
    header.outcome = overall(follower.statuses.values())
    header.ended = time.time()
    save_state(run, run.run_json, header)
    return header.outcome


def settle(run: RunDir) -> None:
    """Write how a run ended whose jobs have ended while no command followed it.

    Nothing happens if it goes on, if another command follows it, or if the scheduler does not
    answer.

    Raises:
        MilabenchError: it cannot be read or written.
    """
    header = read_header(run)
    if header.outcome is not None or not header.jobs:
        return
    with alive(run.path) as is_mine:
        if is_mine:
            header = read_header(run)
            age = time.time() - run.run_json.stat().st_mtime
            forget = 0.0 if age > FORGET else FORGET
            scheduler = scheduler_of(run)
            follower = RunFollower(run, header, ProgressObserver(), scheduler, forget=forget)
            if header.outcome is None and follower.has_ended():
                _write_end(run, header, follower)


def watch_run(run: RunDir, header: RunHeader, observer: ProgressObserver) -> Outcome:
    """Follow a run that goes on; Ctrl-C ends only the watching.

    ``header`` is read from the file: if the jobs ended while unwatched, it has no outcome yet.
    """
    while True:
        with alive(run.path) if header.jobs else nullcontext() as is_mine:
            if is_mine and (found := read_header(run)).outcome is None:
                return follow_jobs(run, found, observer, scheduler_of(run), cancels=False)
        # Another command runs it or follows its jobs, and writes how it ends.
        with closing(StopRequests()) as requests, stopped_by_signals(requests):
            follower = RunFollower(run, header, observer, tells_ended=True)
            has_ended = follower.follow(
                lambda: bool(requests.stops or (header.jobs and not is_alive(run.path)))
            )
            if requests.stops and not has_ended:
                return _left(run, observer)
        if has_ended:
            return require_state(run).header.outcome or Outcome.LOST
