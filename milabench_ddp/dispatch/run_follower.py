"""Follows a run of other processes through its run folder; can stop and start at any time."""

import time
from collections.abc import Callable

from ..events import Status, Verdict
from ..progress import ProgressObserver
from ..results.node_state import read_nodes
from ..results.read_state import ignore, read_benchmark, require_state
from ..results.run_dir import RunDir, save_state
from ..results.state import BenchmarkState, RunHeader
from .job_follower import FORGET, JobFollower
from .node_records import NodeTeller
from .repeats import tell_launches
from .schedulers import Scheduler

ASK = 5.0  # seconds between questions to the scheduler
LOOK = 0.5  # seconds between looks into the folder


class RunFollower:
    """Tells an observer of changes in the files of a run and in its jobs.

    Args:
        run: the run folder.
        header: the header of the run; it keeps the states of the jobs in it up to date.
        observer: is told of changes.
        scheduler: has the jobs; None if another command runs the benchmarks.
        tells_ended: whether to tell the observer of benchmarks that ended before.
        forget: seconds after which a job that the scheduler does not know has ended.
        clock: monotonic seconds.
        sleep: waits for some seconds.
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
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run, self._observer, self._clock, self._sleep = run, observer, clock, sleep
        self._may_start_again = bool(header.jobs)  # a job that has lost its coordinator
        self._jobs = None
        if scheduler is not None:
            self._jobs = JobFollower(run, header.jobs, scheduler, observer, clock, forget)
        self.statuses = dict.fromkeys(header.suite, Status.WAITING)
        self._open = list(header.suite)  # those without a final result
        self._teller = NodeTeller(observer)
        if not tells_ended:
            self._teller.ignore(read_nodes(run, ignore))
        self._left: set[str] = set()  # those whose coordinator has ended before them
        self._paused: set[str] = set()
        self._launches: dict[str, int] = {}  # how many of each have ended
        self._ends: dict[str, float] = {}  # when a benchmark that may run again ended
        for name in header.suite:
            state = read_benchmark(run, name, ignore)
            if state is not None and state.is_final:
                self.statuses[name] = state.status
                self._open.remove(name)
                if tells_ended:
                    observer.end(name, state.verdict)

    def follow(self, until: Callable[[], bool]) -> bool:
        """Look until the run has ended, or ``until`` is true, which is asked after each look.

        Returns:
            whether the run has ended.
        """
        next_ask = self._clock()
        while True:
            self.look()
            if not self._open and self._jobs is not None:
                return True
            if self._clock() >= next_ask:
                if self.has_ended():
                    return True
                next_ask = self._clock() + self._pause()
            if until():
                return False
            self._sleep(LOOK)

    def _pause(self) -> float:
        """Seconds until the next question; fewer when only the jobs have not ended."""
        if self._jobs is None:
            return LOOK
        have_ended = all(self.statuses[name].has_ended for name in self._open)
        return 1.0 if have_ended else ASK

    def look(self) -> None:
        """Read the states of the nodes and the benchmarks, and report what has changed."""
        self._teller.tell(read_nodes(self._run, ignore))
        for name in list(self._open):
            state = read_benchmark(self._run, name, ignore)
            if state is not None:
                self._compare(state)

    def _compare(self, state: BenchmarkState) -> None:
        name, before = state.name, self.statuses[state.name]
        if state.status is Status.RUNNING:
            self.statuses[name] = state.status
            goes_on = name in self._paused and not state.is_paused
            if before is not Status.RUNNING or name in self._left or goes_on:
                ago = max(0.0, time.time() - (state.started or time.time()))
                self._observer.begin(name, state.nodes, state.max_duration, ago)
            self._left.discard(name)
            self._tell_launches(state)
        elif state.ended is not None:
            if state.ended != self._ends.get(name):
                self._ends[name] = state.ended
                self._end(name, state.verdict)
            if state.is_final:
                self._open.remove(name)
        elif state.status is Status.LOST and not self._may_start_again:
            if before is not Status.LOST:
                self._end(name, state.verdict)
        elif state.status is Status.LOST or before is Status.RUNNING:
            self.statuses[name] = Status.RUNNING  # its job may start again and go on with it
            if name not in self._left:
                self._left.add(name)
                self._observer.message(f"{name}: {state.reason or 'it waits again'}")

    def _tell_launches(self, state: BenchmarkState) -> None:
        name, count = state.name, len(state.launches)
        if count != self._launches.get(name, 0):
            self._launches[name] = count
            if count:
                tell_launches(state, self._observer)
        if state.is_paused:
            self._paused.add(name)
        else:
            self._paused.discard(name)

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
            state = read_benchmark(self._run, name, ignore) or BenchmarkState(name)
            state.end(verdict)
            state.interrupted = True
            save_state(self._run, self._run.state_json(name), state)
            self._end(name, verdict)
        self._open.clear()

    def _end(self, name: str, verdict: Verdict) -> None:
        self.statuses[name] = Status(verdict.outcome)
        self._observer.end(name, verdict)
