"""The runners, by the ``kind`` of a runner profile; without a profile, a run is on this host."""

from importlib import import_module
from typing import TYPE_CHECKING

from ...config.runner_profile import RunnerProfile

if TYPE_CHECKING:
    from .base import Runner

# By the kind: the module here, and the class in it. A run imports its own alone.
RUNNERS = {
    "local": ("local", "LocalRunner"),
    "slurm": ("slurm", "SlurmRunner"),
    "ssh": ("ssh", "SshRunner"),
}
_THIS_HOST = ("attached", "HostRunner")


def runner_of(profile: RunnerProfile | None) -> "Runner":
    module, name = _THIS_HOST if profile is None else RUNNERS[profile.kind]
    made: Runner = getattr(import_module(f".{module}", __name__), name)()
    return made
