"""Where a run happens, by the ``kind`` of the runner's profile; without a profile, on this host."""

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
