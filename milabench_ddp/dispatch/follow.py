"""Follows a run that goes on elsewhere, from its folder; may stop and come back at any time."""

import time
from collections.abc import Callable

from ..codec import write_record
from ..events import Outcome, Status, Verdict
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..progress import ProgressObserver
from ..results.read_state import read_benchmark, require_state
from ..results.run_dir import RunDir, alive
from ..results.state import BenchmarkState, JobState, RunHeader
from .schedulers import Scheduler, scheduler_of
from .slurm_jobs import CANCELLED, LIMIT, JobStatus

GOES_ON = "no longer watched; it goes on: `milabench watch {0}`"
ASK = 5.0  # seconds between questions to the scheduler
LOOK = 0.5  # seconds between looks into the folder
FORGET = 60.0  # seconds after which a job that the scheduler does not know has ended
_AFTER = {"TIMEOUT": LIMIT, "CANCELLED": CANCELLED}


class RunFollower:
    """Tells an observer what the files of a run, and its scheduler, say.

    Args:
        run: the run.
        header: its header; the states of its jobs are kept up to date in it.
        observer: is told.
        scheduler: has the jobs; None where another command runs it all.
        tells_ended: whether the observer is told of what has its result already.
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
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run, self._header, self._observer = run, header, observer
        self._scheduler, self._clock, self._sleep = scheduler, clock, sleep
        self.statuses = dict.fromkeys(header.suite, Status.WAITING)
        self._interrupted: set[str] = set()  # its coordinator let it wait again
        self._ends: dict[str, float] = {}  # of a benchmark that may run again
        self._open = set(header.suite)  # without a result that is final
        for name in header.suite:
            state = read_benchmark(run, name)
            if state is not None and state.is_final:
                self.statuses[name] = state.status
                self._open.discard(name)
                if tells_ended:
                    observer.end(name, state.verdict)
        self._answers = True
        self._said: dict[str, JobStatus] = {}
        self._unknown: dict[str, float] = {}  # since when the scheduler does not know a job

    def follow(self, until: Callable[[], bool]) -> bool:
        """Look until the run has ended; whether it was that.

        ``until`` is asked at each look, and ends it too.
        """
        next_ask = self._clock()
        while True:
            self.look()
            if not self._open and self._scheduler is not None:
                return True
            if self._clock() >= next_ask:
                if self._has_ended():
                    return True
                next_ask = self._clock() + (LOOK if self._scheduler is None else self._pause())
            if until():
                return False
            self._sleep(LOOK)

    def _pause(self) -> float:
        """Seconds until the next question; few where all has ended but for the jobs."""
        statuses = [self.statuses[name] for name in self._open]
        return 1.0 if all(status.has_ended for status in statuses) else ASK

    def look(self) -> None:
        """See what has begun, and what has ended."""
        for name in [name for name in self.statuses if name in self._open]:
            state = read_benchmark(self._run, name)
            if state is not None:
                self._compare(state, self.statuses[name])

    def _compare(self, state: BenchmarkState, before: Status) -> None:
        name = state.name
        if state.status is Status.RUNNING:
            if before is not Status.RUNNING:
                limit = float(self._header.suite[name]["max_duration"])
                self._observer.begin(name, state.nodes, limit)
            self.statuses[name] = state.status
            self._interrupted.discard(name)
        elif state.ended is None:
            if state.status is Status.LOST and self._scheduler is None:
                if before is not Status.LOST:
                    self._end(name, state.verdict)
                return
            if state.status is Status.LOST:  # it has run, and nobody goes on with it
                self.statuses[name] = before = Status.RUNNING
            if before is Status.RUNNING and name not in self._interrupted:
                self._interrupted.add(name)
                self._observer.message(f"{name}: {state.reason or 'it waits again'}")
        elif state.ended != self._ends.get(name):
            self._ends[name] = state.ended
            self._end(name, state.verdict)
            if state.is_final:
                self._open.discard(name)

    def _has_ended(self) -> bool:
        if self._scheduler is None:
            if require_state(self._run).header.outcome is None:
                return False
            self.look()
            return True
        if not self._have_jobs_ended(self._scheduler):
            return False
        self.look()
        self._settle()
        return True

    def _have_jobs_ended(self, scheduler: Scheduler) -> bool:
        open_jobs = [job for job in self._header.jobs if not job.state]
        found = scheduler.statuses([job.id for job in open_jobs]) if open_jobs else {}
        answers = found is not None
        if self._answers != answers:
            self._answers = answers
            self._observer.message(
                f"the scheduler {'answers again' if answers else 'does not answer'}"
            )
        if found is None:
            return False
        for job in open_jobs:
            status = found.get(job.id) or self._forgotten(job)
            if status is not None:
                self._note(job, status)
        return all(job.state for job in self._header.jobs)

    def _forgotten(self, job: JobState) -> JobStatus | None:
        """Accounts are written late; a job that stays unknown for long has ended."""
        since = self._unknown.setdefault(job.id, self._clock())
        return JobStatus("UNKNOWN", True) if self._clock() - since > FORGET else None

    def _note(self, job: JobState, status: JobStatus) -> None:
        if self._said.get(job.id) != status:
            self._said[job.id] = status
            why = f" ({status.why})" if status.why else ""
            self._observer.message(f"job {job.id}: {status.word}{why}")
        if status.has_ended:
            job.state = status.word

    def _settle(self) -> None:
        """After the end of all jobs: write down what became of what they did not finish."""
        for name in [name for name in self.statuses if name in self._open]:
            before = self.statuses[name]
            if before.has_ended:
                continue  # its coordinator has said why
            verdict = self._verdict_of_job(name)
            if before is Status.WAITING and verdict.outcome is not Outcome.CANCELLED:
                word = self._word(name)
                verdict = Verdict(Outcome.LOST, f"its job ended before it began: {word}")
            status = Status(verdict.outcome)
            state = BenchmarkState(
                name, status, verdict.reason, ended=time.time(), interrupted=True
            )
            write_record(self._run.state_json(name), state)
            self._end(name, verdict)
        self._open.clear()

    def _verdict_of_job(self, name: str) -> Verdict:
        word = self._word(name)
        return _AFTER.get(word, Verdict(Outcome.LOST, f"its job ended: {word}"))

    def _word(self, name: str) -> str:
        for job in reversed(self._header.jobs):
            if name in job.benchmarks:
                return job.state
        return "UNKNOWN"

    def _end(self, name: str, verdict: Verdict) -> None:
        self.statuses[name] = Status(verdict.outcome)
        self._observer.end(name, verdict)


def follow_jobs(
    run: RunDir,
    header: RunHeader,
    observer: ProgressObserver,
    scheduler: Scheduler,
    *,
    cancels: bool,
) -> Outcome:
    """Follow a run's jobs to their end; a Ctrl-C cancels them, or only ends the watching."""
    requests = StopRequests()
    with alive(run.path), stopped_by_signals(requests):
        follower = RunFollower(run, header, observer, scheduler, tells_ended=not cancels)
        has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended and cancels:
            observer.message("cancelling the jobs")
            scheduler.cancel([job.id for job in header.jobs if not job.state])
            requests.stops = 0
            has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended:
            observer.message(GOES_ON.format(run.path))
            return Outcome.CANCELLED
        header.outcome = _overall(set(follower.statuses.values()))
        header.ended = time.time()
        write_record(run.run_json, header)
    return header.outcome


def _overall(statuses: set[Status]) -> Outcome:
    if Status.CANCELLED in statuses:
        return Outcome.CANCELLED
    return Outcome.OK if statuses <= {Status.OK} else Outcome.FAILED


def watch_run(run: RunDir, header: RunHeader, observer: ProgressObserver) -> Outcome:
    """Follow a run that goes on; Ctrl-C ends the watching and nothing else.

    ``header`` is that of the file: a run whose jobs have ended unwatched has no outcome yet.
    """
    if header.jobs:
        return follow_jobs(run, header, observer, scheduler_of(run), cancels=False)
    requests = StopRequests()
    with stopped_by_signals(requests):
        follower = RunFollower(run, header, observer, tells_ended=True)
        has_ended = follower.follow(lambda: bool(requests.stops))
    if not has_ended:
        observer.message(GOES_ON.format(run.path))
        return Outcome.CANCELLED
    return require_state(run).header.outcome or Outcome.LOST
