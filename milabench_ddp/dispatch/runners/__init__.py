"""The runners, by the ``kind`` of a runner profile; without a profile, a run is on this host."""

from collections.abc import Mapping

from ...config.runner_profile import RunnerProfile
from .attached import HostRunner, LocalRunner
from .base import Runner
from .slurm import SlurmRunner
from .ssh import SshRunner

RUNNERS: Mapping[str, Runner] = {
    "local": LocalRunner(),
    "slurm": SlurmRunner(),
    "ssh": SshRunner(),
}


def runner_of(profile: RunnerProfile | None) -> Runner:
    """The runner of a profile."""
    return HostRunner() if profile is None else RUNNERS[profile.kind]
