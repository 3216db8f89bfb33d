"""Follows the jobs of a run: asks their scheduler, and says how a job ended."""

from collections.abc import Sequence
from pathlib import Path

from ..codec import read_record
from ..config.runner_profile import RunnerProfile
from ..errors import RunDirError
from ..events import Clock, Outcome, Verdict
from ..progress import ProgressObserver
from ..results.run_dir import RunDir
from ..results.state import JobState
from .agent_process import last_lines, main_line
from .run_context import RunPlan
from .schedulers import Scheduler
from .slurm_queue import CANCELLED, LIMIT, NO_FILES, OUT_OF_MEMORY, JobStatus

FORGET = 60.0  # seconds after which a job that the scheduler does not know has ended
_AFTER = {"TIMEOUT": LIMIT, "CANCELLED": CANCELLED}


class JobFollower:
    """Asks a scheduler about the jobs of a run, and tells an observer of changes.

    Args:
        forget: seconds after which a job that the scheduler does not know has ended.
    """

    def __init__(
        self,
        run: RunDir,
        jobs: Sequence[JobState],
        scheduler: Scheduler,
        observer: ProgressObserver,
        clock: Clock,
        forget: float = FORGET,
    ) -> None:
        self._run, self._jobs, self._scheduler = run, jobs, scheduler
        self._observer, self._clock, self._forget = observer, clock, forget
        self._answers = True
        self._said: dict[str, JobStatus] = {}
        self._details: dict[str, str] = {}  # by job: what the scheduler says of its end
        self._unknown: dict[str, float] = {}  # by job: since when the scheduler does not know it

    def have_ended(self) -> bool:
        going = [job for job in self._jobs if not job.state]
        found = self._scheduler.statuses([job.id for job in going])
        if (found is not None) is not self._answers:
            self._answers = not self._answers
            words = "answers again" if self._answers else "does not answer"
            self._observer.message(f"the scheduler {words}")
        if found is None:
            return False
        for job in going:
            status = found.get(job.id)
            if status is None:
                since = self._unknown.setdefault(job.id, self._clock())
                if self._clock() - since < self._forget:
                    continue
                status = JobStatus("UNKNOWN", True)
            self._note(job, status)
        return all(job.state for job in self._jobs)

    def _note(self, job: JobState, status: JobStatus) -> None:
        if self._said.get(job.id) != status:
            self._said[job.id] = status
            why = f" ({status.why})" if status.why else ""
            self._observer.message(f"job {job.id}: {status.word}{why}")
        if status.has_ended:
            job.state, self._details[job.id] = status.word, status.detail

    def verdict(self, benchmark: str, *, has_begun: bool) -> Verdict:
        jobs = [job for job in self._jobs if benchmark in job.benchmarks]
        word = jobs[-1].state if jobs else "UNKNOWN"
        if word in _AFTER and (has_begun or _AFTER[word] is CANCELLED):
            return _AFTER[word]
        began = "" if has_begun else " before it began"
        parts = [f"its job ended{began}: {word}"]
        if jobs and (why := why_ended(self._run, jobs[-1], self._details.get(jobs[-1].id, ""))):
            parts.append(why)
        outcome = Outcome.LOST if has_begun else Outcome.NOT_BEGUN
        if has_begun and word == OUT_OF_MEMORY:
            outcome = Outcome.FAILED
        return Verdict(outcome, ", ".join(parts))


def job_folder(run: RunDir, profile: RunnerProfile) -> Path:
    return Path(profile.job_dir) if profile.job_dir else run.path / "submitit"


def why_ended(run: RunDir, job: JobState, detail: str) -> str:
    try:
        profile = read_record(run.plan_json, RunPlan).runner
    except RunDirError:
        return detail
    assert profile is not None
    folder = job_folder(run, profile)
    if detail.endswith(NO_FILES):
        return f"{detail} in {folder}: choose a folder that all nodes see, with --base or --job-dir"
    log = folder / job.id / f"{job.id}_0_log.err"
    words = main_line(last_lines(log))
    if not words:
        return detail
    said = f"{words} (see {log})"
    return f"{detail}: {said}" if detail else said
