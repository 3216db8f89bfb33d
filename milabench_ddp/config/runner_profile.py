"""Runner profiles, ``runners/*.yaml``: where a run happens, as data.

Each setting is declared once: its default, its check, its help text, its flag on the command line,
and its names in sbatch and submitit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..errors import ConfigError
from .checks import (
    Check,
    as_mapping,
    check_entries,
    flag,
    for_process,
    one_line,
    one_of,
    single,
    texts,
    whole,
)
from .files import is_file
from .shipped import find_shipped, not_found
from .tree import (
    Origin,
    ScalarNode,
    TreeNode,
    expanded,
    scalar_text,
    shown,
)

T = TypeVar("T")

_LONGEST = 19  # digits of a number
KINDS = ("local", "slurm", "ssh")


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting of a profile."""

    help: str
    check: Check
    is_fixed: bool = False  # once a run is created: --resume refuses it
    flag: str = ""  # on the command line; empty if it does not have one
    metavar: str = ""
    sbatch: str = ""  # the name of sbatch's option; after ``=``, the format of its value
    submitit: str = ""

    def from_flag(self, words: str) -> str | int:
        """The value that the command line gives; raises ConfigError if the check refuses it."""
        is_number = words.isdecimal() and len(words) < _LONGEST and self.check is not one_line
        value = int(words) if is_number else words
        self.check(self.flag, ScalarNode(value, Origin("the command line")))
        return value


def setting(default: T, check: Check, help: str, *, is_fixed: bool = False, **names: str) -> T:
    """A field of ``RunnerProfile``; the arguments are those of ``Setting``."""
    declared = Setting(help, check, is_fixed, **names)
    made: T = field(default_factory=lambda: default, metadata={"setting": declared})
    return made


# As `export` takes it; other names would end its word, or begin another.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # of an option of sbatch


def _environment(key: str, node: TreeNode) -> dict[str, str]:
    values = {}
    for name, value in as_mapping(key, node).entries.items():
        if not _VARIABLE.fullmatch(name):
            raise ConfigError(f"`{name}` in {value.origin} cannot name a variable of a shell")
        values[name] = for_process(key, scalar_text(single(f"{key}.{name}", value)), value)
    return values


def _options(key: str, node: TreeNode) -> dict[str, str]:
    """Check texts that are lines of an sbatch script: after a line end would come a command."""
    values = {}
    for name, value in as_mapping(key, node).entries.items():
        if not _LONG_NAME.fullmatch(name):
            raise ConfigError(f"`{name}` in {value.origin} cannot name an option of sbatch")
        stated = scalar_text(single(f"{key}.{name}", value))
        values[name] = one_line(f"{key}.{name}", ScalarNode(stated, value.origin))
    return values


def _commands(key: str, node: TreeNode) -> tuple[str, ...]:
    return tuple(for_process(key, command, node) for command in texts(key, node))


@dataclass(frozen=True)
class RunnerProfile:
    """A profile; None leaves the choice to the cluster, or to the command line."""

    kind: str = field(metadata={"setting": Setting("how nodes are reached", one_of(*KINDS))})
    path: str = ""  # of its file; empty if it was not read from a file
    cluster: str = setting(
        "slurm", one_of("slurm", "local", "debug"), "the executor of submitit that runs the jobs"
    )
    nodes: int | None = setting(None, whole(1), "the number of nodes, unless --nodes is given")
    timeout: int = setting(
        60, whole(1), "the time limit of a job, in minutes",
        flag="--timeout", metavar="MIN", sbatch="time", submitit="timeout_min",
    )  # fmt: skip
    gpus_per_node: int | None = setting(
        None, whole(0), "the number of GPUs to request per node (default: that of --gpus)",
        flag="--gpus-per-node", metavar="N", is_fixed=True,
        sbatch="gpus-per-node", submitit="gpus_per_node",
    )  # fmt: skip
    cpus_per_task: int | None = setting(
        None, whole(1), "the number of CPUs to request per node",
        sbatch="cpus-per-task", submitit="cpus_per_task",
    )  # fmt: skip
    signal_delay: int = setting(
        60, whole(0), "how many seconds before its time limit a job is told to stop",
        sbatch="signal=USR2@{}", submitit="slurm_signal_delay_s",
    )  # fmt: skip
    partition: str | None = setting(
        None, one_line, "the partition to submit to",
        flag="--partition", metavar="NAME", sbatch="partition", submitit="slurm_partition",
    )  # fmt: skip
    account: str | None = setting(
        None, one_line, "the account to charge",
        flag="--account", metavar="NAME", sbatch="account", submitit="slurm_account",
    )  # fmt: skip
    qos: str | None = setting(
        None, one_line, "the quality of service to request",
        flag="--qos", metavar="NAME", sbatch="qos", submitit="slurm_qos",
    )  # fmt: skip
    exclude: str | None = setting(
        None, one_line, "nodes that must not be used",
        flag="--exclude-nodes", metavar="A,B", sbatch="exclude", submitit="slurm_exclude",
    )  # fmt: skip
    constraint: str | None = setting(
        None, one_line, "features that the nodes must have",
        sbatch="constraint", submitit="slurm_constraint",
    )  # fmt: skip
    # Exclusive, because other jobs on the same nodes would distort the measurements.
    exclusive: bool = setting(True, flag, "whether to keep other jobs off the nodes")
    gres: bool = setting(
        True, flag, "whether Slurm knows the GPUs of its nodes; if not, none are requested"
    )
    options: Mapping[str, str] = setting(
        {}, _options, "other options of sbatch, by their long names"
    )
    setup: tuple[str, ...] = setting((), _commands, "shell commands that run before a node's agent")
    environment: Mapping[str, str] = setting(
        {},
        _environment,
        "environment variables of the agents and of the processes that they start",
    )
    array_parallelism: int = setting(
        16, whole(1), "how many jobs of an array run at the same time",
        submitit="slurm_array_parallelism",
    )  # fmt: skip
    allocation: str = setting(
        "shared", one_of("shared", "separate"),
        "shared: one job for all benchmarks of a sweep; separate: one job for each",
        flag="--allocation", metavar="{shared,separate}",
    )  # fmt: skip
    launcher: Literal["torchrun", "tasks"] = setting(
        "torchrun", one_of("torchrun", "tasks"),
        "torchrun; or tasks: the agent starts one process per GPU, without torchrun",
    )  # fmt: skip
    job_dir: str | None = setting(
        None, one_line, "the folder for submitit's files, which all nodes must see "
        "(default: in the run folder)",
        flag="--job-dir", metavar="DIR",
    )  # fmt: skip


SETTINGS: Mapping[str, Setting] = {
    each.name: each.metadata["setting"] for each in fields(RunnerProfile) if each.metadata
}


def find_profile(name: str) -> Path:
    """The file that ``--runner`` means: a path, or else the name of a shipped profile.

    Raises ConfigError, with a suggestion, if it is neither.
    """
    path = expanded(name)
    if is_file(path):
        return path
    shipped = find_shipped("runners", name)
    if shipped is not None:
        return shipped
    raise ConfigError(f"--runner {not_found('runners', 'profile', name)}")


def read_profile(path: Path) -> RunnerProfile:
    """Read a profile; raises ConfigError, with file and line, for a mistake in it."""
    # Imported here: every command needs the settings above, and few need PyYAML (15 ms).
    from .read import read_yaml
    from .tree import finalize

    top = finalize(read_yaml(path))
    values = check_entries({name: each.check for name, each in SETTINGS.items()}, top)
    if "kind" not in values:
        raise ConfigError(f"{shown(path)}: has no `kind`: it is one of {', '.join(KINDS)}")
    profile = RunnerProfile(**values, path=str(path))
    if not profile.gres and not profile.exclusive:
        raise ConfigError(
            f"{shown(path)}: `gres: false` needs `exclusive: true`: Slurm could give the same GPUs "
            f"to two jobs"
        )
    return profile


def with_settings(profile: RunnerProfile, settings: Mapping[str, Any]) -> RunnerProfile:
    """The profile with other values of some settings, which were checked."""
    return replace(profile, **settings)
