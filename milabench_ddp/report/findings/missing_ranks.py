"""Findings about jobs and ranks of which something is missing: all, or some of their steps."""

from collections.abc import Sequence

from ...errors import shown_names
from ...events import Status
from ...grouping import grouped
from ..completeness import JobRanks, jobs_of
from ..model import Row
from .finder import Finds, Found, Looked, finding


def _ranks_planned(row: Row) -> Looked:
    jobs = list(jobs_of(row.processes))
    planned = sum(job.planned for job in jobs if job.began)
    return planned or ("its ranks tell neither device nor steps" if jobs else 0)


# It hangs, or never began; the rate of its job is not that of the ranks that were planned.
@finding(
    "error",
    "{job}: {place} of {planned} told nothing",
    "see what it printed, and whether its node and its device answer",
    layer="planning",
    looks_for="missing ranks",
    among=_ranks_planned,
)
def silent_rank(row: Row) -> Finds:
    """Ranks that told nothing, where others of their job did."""
    for job in jobs_of(row.processes):
        if job.silent:
            yield _missing(job, job.silent)


@finding(
    "error",
    "only {jobs} of {planned} jobs[ of {place}] left a file",
    "run it again",
    layer="planning",
)
def missing_job(row: Row) -> Finds:
    """Launches of which fewer jobs left a file than the plan has."""
    ended = [process for process in row.processes if process.status is not Status.RUNNING]
    for (_, repeat), processes in grouped((each.launch, each) for each in ended).items():
        planned, jobs = processes[0].record.planned_jobs, {each.record.job for each in processes}
        if len(jobs) < planned:
            yield Found(repeat, {"jobs": len(jobs), "planned": planned})


@finding(
    "warning",
    "{job}: {place} told only {told} of {most} steps",
    "see what it printed last",
    section="steps",
)
def missing_steps(row: Row) -> Finds:
    """Ranks that told no steps, or fewer than others of their job."""
    for job in jobs_of(row.processes):
        if not job.is_whole:
            continue  # why it told no more is a finding of its own
        if job.stepless:
            yield _missing(job, job.stepless, "{job}: {place} of {planned} told no steps")
        most = max(job.steps.values(), default=0)
        fewer = {rank: count for rank, count in sorted(job.steps.items()) if count < most}
        if fewer:
            steps = {str(rank): count for rank, count in fewer.items()}
            yield Found(
                _shown(list(fewer)),
                evidence={"ranks": list(fewer), "steps": steps, "most": most},
                words={"job": job.name, "told": shown_names(list(map(str, fewer.values())))},
            )


def _missing(job: JobRanks, ranks: Sequence[int], sentence: str = "") -> Found:
    return Found(
        _shown(ranks),
        evidence={"ranks": ranks, "planned": job.planned},
        words={"job": job.name},
        sentence=sentence,
    )


def _shown(ranks: Sequence[int]) -> str:
    return shown_names([f"rank {rank}" for rank in ranks])
