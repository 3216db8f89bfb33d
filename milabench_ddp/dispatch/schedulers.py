"""The schedulers of jobs, how a run is split into jobs, and how a job starts itself again."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ..codec import read_record
from ..config.schema import Benchmark
from ..errors import DispatchError, RunDirError
from ..files import read_bytes
from ..results.read_state import read_header
from ..results.run_dir import RunDir
from ..results.state import JobState, own_id
from . import slurm_queue
from .run_context import RunPlan, missing_benchmarks
from .slurm_queue import JobStatus

RESTARTS = 3  # of a job by itself
_RUNNING, _GONE = JobStatus("RUNNING", False), JobStatus("COMPLETED", True)


class Scheduler(Protocol):
    """Runs jobs, and answers questions about them."""

    def statuses(self, ids: Sequence[str]) -> dict[str, JobStatus] | None:
        """The statuses of jobs by id, without unknown jobs; None without an answer."""

    def cancel(self, ids: Sequence[str]) -> bool:
        """Cancel jobs; returns whether the scheduler accepted that."""


class ProcessJobs:
    """The jobs of submitit's local executor: processes of this host, with their pids as ids."""

    def statuses(self, ids: Sequence[str]) -> dict[str, JobStatus]:
        """The statuses of jobs by id; a process that is not there has ended."""
        return {job: _RUNNING if _exists(job) else _GONE for job in ids}

    def cancel(self, ids: Sequence[str]) -> bool:
        for job in filter(_exists, ids):
            with suppress(ProcessLookupError):
                os.kill(int(job), signal.SIGTERM)
        return True


def _exists(job: str) -> bool:
    try:
        return job.isdecimal() and b"submitit" in read_bytes(Path("/proc", job, "cmdline"))
    except OSError:
        return False


SCHEDULERS: Mapping[str, Scheduler] = {
    "slurm": slurm_queue,
    "local": ProcessJobs(),
    "debug": ProcessJobs(),
}


def scheduler_of(run: RunDir) -> Scheduler:
    profile = read_record(run.plan_json, RunPlan).runner
    if profile is None:
        raise DispatchError(f"{run.path} has no jobs of a scheduler")
    return SCHEDULERS[profile.cluster]


def missing_of_job(run: RunDir, plan: RunPlan, job: JobState) -> tuple[Benchmark, ...]:
    mine = [benchmark for benchmark in plan.benchmarks if benchmark.name in job.benchmarks]
    return missing_benchmarks(run, mine)


def most_nodes(benchmarks: Sequence[Benchmark], nodes: int) -> int:
    """The nodes that the largest of these benchmarks needs; the others fit on fewer.

    Args:
        benchmarks: at least one.
        nodes: the nodes of a benchmark that does not set their number.
    """
    return max(benchmark.size(nodes) for benchmark in benchmarks)


def split_into_jobs(benchmarks: Sequence[Benchmark], nodes: int, allocation: str) -> list[JobState]:
    """One job for all benchmarks, or one job for each, the largest first.

    Args:
        benchmarks: at least one.
        nodes: the nodes of a benchmark that does not set their number.
        allocation: ``shared`` for one job, or ``separate``.
    """
    if allocation == "shared":
        names = tuple(benchmark.name for benchmark in benchmarks)
        return [JobState("all", most_nodes(benchmarks, nodes), names)]
    jobs = []
    for benchmark in benchmarks:
        jobs.append(JobState(benchmark.name, benchmark.size(nodes), (benchmark.name,)))
    return sorted(jobs, key=lambda job: -job.nodes)


def own_job(run: RunDir) -> JobState | None:
    """The job of Slurm that this process is in, once the command that submits it has noted it."""
    return next((job for job in read_header(run).jobs if job.id == own_id()), None)


def start_again(run: RunDir) -> None:
    """Let this job start again; after ``RESTARTS`` restarts, cancel it: nodes are not the cause."""
    if not own_id():
        return
    if int(os.environ.get("SLURM_RESTART_COUNT", "0")) < RESTARTS:
        restart(run)
    else:
        slurm_queue.cancel([own_id()])


def restart(run: RunDir) -> None:
    """Let this job start again, with fewer nodes if what is missing needs fewer.

    Slurm lets a job ask for other nodes only while it waits. It does so from the request to start
    again, and this process has some time from then until Slurm kills it.
    """
    own = own_id()
    slurm_queue.requeue(own)  # first, since the folder may be on a node that is gone
    try:
        plan, job = read_record(run.plan_json, RunPlan), own_job(run)
    except RunDirError:
        return  # it starts with as many nodes as before, and gives back what it does not need
    if job is None or plan.runner is None:
        return
    missing = missing_of_job(run, plan, job)
    needed = most_nodes(missing, plan.nodes) + plan.spare if missing else job.nodes
    slurm_queue.resize(own, needed, plan.runner)
