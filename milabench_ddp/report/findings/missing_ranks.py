"""Findings about ranks of which something is missing: all, their steps, or some of these."""

from collections.abc import Sequence

from ...errors import shown_names
from ..completeness import jobs_of
from ..model import Finding, Findings, Row


def silent_ranks(row: Row) -> Findings:
    """Ranks that told nothing, where others of their job did."""
    for job in jobs_of(row.processes):
        if job.silent:
            sentence = f"{job.name}: {_ranks(job.silent)} of {job.planned} told nothing"
            evidence = {"ranks": job.silent, "planned": job.planned}
            yield Finding(sentence, place=_ranks(job.silent), evidence=evidence)


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
