"""Lets the Slurm job of this process start again, on the nodes that its missing benchmarks need."""

import os

from ..codec import read_record
from ..errors import RunDirError
from ..results.run_dir import RunDir
from ..results.state import JobState
from . import slurm_jobs
from .run_context import RunPlan
from .schedulers import nodes_needed
from .slurm_commands import own_id

RESTARTS = 3
_TRIES = 3


def start_again(run: RunDir, job: str) -> None:
    """Let this job start again; after ``RESTARTS`` restarts, cancel it: nodes are not the cause.

    Args:
        run: the run folder.
        job: the name of the job in it.
    """
    if not own_id():
        return
    if int(os.environ.get("SLURM_RESTART_COUNT", "0")) < RESTARTS:
        restart(run, job)
    else:
        slurm_jobs.cancel([own_id()])


def restart(run: RunDir, job: str) -> None:
    """Let this job start again, with fewer nodes if what is missing needs fewer.

    Slurm lets a job ask for other nodes only while it waits. It does so from the request to start
    again, and this process has some time from then until Slurm kills it.
    """
    own = own_id()
    slurm_jobs.requeue(own)  # first, since the folder may be on a node that is gone
    try:
        plan = read_record(run.plan_json, RunPlan)
        needed = nodes_needed(run, plan, read_record(run.job_json(job), JobState))
    except RunDirError:
        return  # it starts with as many nodes as before, and gives back what it does not need
    assert plan.runner is not None
    for _ in range(_TRIES):  # Slurm signals all processes of the job: a signal may end `scontrol`
        if slurm_jobs.resize(own, needed, plan.runner):
            return
