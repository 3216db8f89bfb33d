"""Where a run happens: the runner's profile, with what the command line says instead."""

import argparse
from dataclasses import replace
from typing import Any

from ..config.runner import Runner, find_runner, read_runner
from ..config.system import System
from ..errors import SelectionError
from . import setup

_FLAGS = {
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "timeout": "timeout",
    "job_dir": "job_dir",
    "gpus_per_node": "gpus_per_node",
    "exclude_nodes": "exclude",
    "allocation": "allocation",
}


def runner(options: argparse.Namespace, system: System | None) -> Runner | None:
    """The profile; None for this host by itself.

    Raises:
        ConfigError: there is no such profile, or it is wrong.
        SelectionError: a flag was given that needs a scheduler, and there is none.
    """
    if options.runner is not None:
        found = read_runner(find_runner(options.runner))
    elif setup.node_count(options, system) == 1:
        found = None
    else:
        found = Runner(kind="ssh" if system is not None and len(system.nodes) > 1 else "local")
    given = flags(options, found.kind if found else None)
    return replace(found, **given) if found else None


def flags(options: argparse.Namespace, kind: str | None) -> dict[str, Any]:
    """What the command line says instead of a profile of this kind, by the profile's keys.

    Raises:
        SelectionError: it says something that needs a scheduler, and there is none.
    """
    given = {flag: getattr(options, flag) for flag in _FLAGS if getattr(options, flag) is not None}
    if given and kind != "slurm":
        flag = next(iter(given)).replace("_", "-")
        raise SelectionError(f"--{flag} is for a cluster's scheduler: add --runner slurm")
    return {_FLAGS[flag]: value for flag, value in given.items()}


def nodes(options: argparse.Namespace, system: System | None, profile: Runner) -> int:
    """How many nodes: the most of ``--nodes``, or those of the profile, or of a system file."""
    return max(options.nodes or (), default=profile.nodes or setup.node_count(options, system))
