"""Who runs the jobs of a run: Slurm, or submitit on this host."""

from collections.abc import Sequence
from typing import Protocol

from ..config.runner_profile import profile_of
from ..results.planfile import read_plan
from ..results.run_dir import RunDir
from . import processes, scheduler
from .scheduler import JobState


class Engine(Protocol):
    """What can be asked of it."""

    def states(self, ids: Sequence[str]) -> dict[str, JobState] | None:
        """The states of jobs; those that it does not know are left out. None: it is silent."""

    def cancel(self, ids: Sequence[str]) -> bool:
        """End jobs; whether it took that."""


def engine_of(cluster: str) -> Engine:
    """The engine of a runner profile's ``cluster``."""
    return scheduler if cluster == "slurm" else processes


def engine_of_run(rundir: RunDir) -> Engine:
    """The engine that has the jobs of a run; raises RunDirError where its plan cannot be read."""
    return engine_of(profile_of(read_plan(rundir.plan_json).runner).cluster)
