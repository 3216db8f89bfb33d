"""Findings about jobs and ranks of which something is missing: all, or some of their steps."""

from collections import defaultdict
from collections.abc import Sequence

from ...errors import shown_names
from ...events import Status
from ...results.records import is_finite, mapping_or_empty
from ..completeness import jobs_of
from ..finding import Finding, Findings
from ..model import Row
from ..ranks.rank_launch import LaunchKey


def silent_ranks(row: Row) -> Findings:
    """Ranks that told nothing, where others of their job did."""
    for job in jobs_of(row.processes):
        if job.silent:
            sentence = f"{job.name}: {_ranks(job.silent)} of {job.planned} told nothing"
            evidence = {"ranks": job.silent, "planned": job.planned}
            yield Finding(sentence, place=_ranks(job.silent), evidence=evidence)


def missing_jobs(row: Row) -> Findings:
    """Launches of which fewer jobs left a file than the plan has."""
    jobs: dict[LaunchKey, set[tuple[str, ...]]] = defaultdict(set)
    planned: dict[LaunchKey, int] = {}
    for process in row.processes:
        plan = mapping_or_empty(process.record.config.get("plan"))
        count = plan.get("n")
        if process.status is not Status.RUNNING and plan.get("method") == "njobs":
            jobs[process.launch].add(process.record.job)
            planned[process.launch] = int(count) if is_finite(count) else 1
    for launch, found in jobs.items():
        _, repeat = launch
        if len(found) < planned[launch]:
            where = f" of {repeat}" if repeat else ""
            sentence = f"only {len(found)} of {planned[launch]} jobs{where} left a file"
            evidence = {"jobs": len(found), "planned": planned[launch]}
            yield Finding(sentence, place=repeat, evidence=evidence)


def missing_steps(row: Row) -> Findings:
    """Ranks that told no steps, or fewer than others of their job."""
    for job in jobs_of(row.processes):
        if not job.is_whole:
            continue  # why it told no more is a finding of its own
        if job.stepless:
            sentence = f"{job.name}: {_ranks(job.stepless)} of {job.planned} told no steps"
            evidence = {"ranks": job.stepless, "planned": job.planned}
            yield Finding(sentence, place=_ranks(job.stepless), evidence=evidence)
        most = max(job.steps.values(), default=0)
        fewer = [rank for rank, count in sorted(job.steps.items()) if count < most]
        if fewer:
            told = shown_names([str(job.steps[rank]) for rank in fewer])
            sentence = f"{job.name}: {_ranks(fewer)} told only {told} of {most} steps"
            evidence = {"steps": {str(rank): job.steps[rank] for rank in fewer}, "most": most}
            yield Finding(sentence, place=_ranks(fewer), evidence=evidence)


def _ranks(ranks: Sequence[int]) -> str:
    return shown_names([f"rank {rank}" for rank in ranks])
