"""The runners, by the ``kind`` of a runner profile; without a profile, a run is on this host.

The runner of a kind is in the file of that name: ``ssh`` is ``SshRunner``, in ``ssh.py``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ...config.runner_profile import RunnerProfile

if TYPE_CHECKING:
    from .base import Runner


def runner_of(profile: RunnerProfile | None) -> "Runner":
    """The runner of a profile. A run imports its own alone."""
    module, name = "attached", "Host"
    if profile is not None:
        module, name = profile.kind, profile.kind.capitalize()
    made: Runner = getattr(import_module(f".{module}", __name__), f"{name}Runner")()
    return made
