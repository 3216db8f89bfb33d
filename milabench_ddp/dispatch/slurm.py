"""Slurm, through submitit: one agent on each node of a job, with the leader on its first node."""

import io
import shlex
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..config.runner_profile import SETTINGS, RunnerProfile
from ..errors import DispatchError
from . import jobs, scheduler
from .jobs import Job
from .task import NodeTask


def parameters(profile: RunnerProfile, nodes: int) -> dict[str, Any]:
    """The parameters of submitit's ``AutoExecutor`` for the jobs on this many nodes."""
    told: dict[str, Any] = {
        "nodes": nodes,
        "tasks_per_node": 1,
        "slurm_setup": setup_lines(profile),
        # A node that dies takes its own point with it, and not the job: the leader goes on.
        "slurm_srun_args": ["--no-kill", "--kill-on-bad-exit=0"],
        "slurm_additional_parameters": {"no_kill": True, **other_options(profile)},
    }
    for name, setting in SETTINGS.items():
        value = getattr(profile, name)
        if setting.submitit and value is not None:
            told[setting.submitit] = value
    return told


def setup_lines(profile: RunnerProfile) -> list[str]:
    """The shell commands of a job that come before the agents."""
    exports = [f"export {name}={shlex.quote(value)}" for name, value in profile.environment.items()]
    return [*profile.setup, *exports, f"export MILABENCH_SIGNAL_DELAY={profile.signal_delay}"]


def other_options(profile: RunnerProfile) -> dict[str, str | bool]:
    """The options of sbatch that submitit has no name for."""
    exclusive = {"exclusive": True} if profile.exclusive else {}
    return {**exclusive, **profile.options}


def submit(run: Path, profile: RunnerProfile, wanted: Sequence[Job]) -> list[dict[str, Any]]:
    """Hand jobs to the scheduler; those of one size that are many go as one array.

    Returns:
        for each its name, its id, and the points it is to do; as ``run.json`` keeps them.

    Raises:
        DispatchError: there is no scheduler here, or it refuses.
    """
    import submitit

    if profile.cluster == "slurm" and not shutil.which("sbatch"):
        raise DispatchError(
            "there is no Slurm here (no `sbatch` on the PATH): run this on a node from which jobs "
            "are submitted, or use several nodes of this machine with --runner local"
        )
    if profile.cluster != "slurm" and any(job.nodes > 1 for job in wanted):
        raise DispatchError(
            f"cluster: {profile.cluster} has one node: use --runner local for several nodes of "
            f"this machine, or cluster: slurm"
        )
    folder = Path(profile.job_dir) if profile.job_dir else run / "submitit"
    submitted: list[dict[str, Any]] = []
    for nodes in dict.fromkeys(job.nodes for job in wanted):
        group = [job for job in wanted if job.nodes == nodes]
        for job in group:
            jobs.save(run, job)
        try:
            executor = submitit.AutoExecutor(folder / "%j", profile.cluster)
            executor.update_parameters(name=run.name, **_of(profile, nodes))
            # What sbatch prints when it refuses is in the error, too.
            with redirect_stderr(io.StringIO()), executor.batch():
                handles = [executor.submit(NodeTask(str(run), job.name)) for job in group]
        except submitit.core.utils.FailedJobError as error:
            scheduler.cancel([job["id"] for job in submitted])  # all of them, or none
            raise DispatchError(f"Slurm refuses the job: {_last_words(str(error))}") from error
        except OSError as error:
            raise DispatchError(
                f"cannot write {error.filename or folder}: {error.strerror}; choose a folder that "
                f"all nodes see with --job-dir"
            ) from error
        if profile.cluster == "debug":  # runs them in this process, once results are asked for
            for handle in handles:
                handle.results()
        for job, handle in zip(group, handles, strict=True):
            submitted.append({**asdict(job), "id": handle.job_id, "state": ""})
    return submitted


def _of(profile: RunnerProfile, nodes: int) -> dict[str, Any]:
    told = parameters(profile, nodes)
    if profile.cluster == "slurm":
        return told
    return {key: value for key, value in told.items() if not key.startswith("slurm_")}


def _last_words(text: str) -> str:
    """The sentence in what sbatch prints when it refuses."""
    lines = [line.strip() for line in text.splitlines() if "error:" in line]
    said = [line.split("error:", 1)[1].strip() for line in lines]
    useful = [line for line in said if not line.startswith("Batch job submission failed")] or said
    return "; ".join(dict.fromkeys(useful)) or text.strip()
