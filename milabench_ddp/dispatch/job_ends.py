"""Why a job ended before its benchmarks did: Slurm's word, and the last line of the job's log."""

from pathlib import Path

from ..codec import read_record
from ..config.runner_profile import RunnerProfile
from ..errors import RunDirError
from ..results.run_dir import RunDir
from ..results.state import JobState
from .agent_process import last_lines, main_line
from .run_context import RunPlan
from .slurm_jobs import NO_FILES


def job_folder(run: RunDir, profile: RunnerProfile) -> Path:
    """The folder in which submitit keeps the files of a run's jobs."""
    return Path(profile.job_dir) if profile.job_dir else run.path / "submitit"


def why_ended(run: RunDir, job: JobState, detail: str) -> str:
    """What is known of the end of a job, for a sentence about it; empty if nothing is.

    Args:
        run: the run folder.
        job: the job.
        detail: what its scheduler says.
    """
    try:
        profile = read_record(run.plan_json, RunPlan).runner
    except RunDirError:
        return detail
    if profile is None:
        return detail
    folder = job_folder(run, profile)
    if detail.endswith(NO_FILES):
        return f"{detail} in {folder}: choose a folder that all nodes see, with --base or --job-dir"
    log = folder / job.id / f"{job.id}_0_log.err"
    words = main_line(last_lines(log))
    if not words:
        return detail
    said = f"{words} (see {log})"
    return f"{detail}: {said}" if detail else said
