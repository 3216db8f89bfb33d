"""Runner profiles, ``runners/*.yaml``: where a run happens, as data.

Each setting is declared once: its default, its check, its help text, its flag on the command line,
and its name in sbatch.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ..errors import ConfigError
from ..hostlist import hostlist
from ..visible import in_line
from .checks import (
    Check,
    Count,
    Natural,
    Single,
    Text,
    Texts,
    check_entries,
    checked,
    typed,
    wrong,
)
from .container import Container
from .shipped import find_file
from .tree import Origin, ScalarNode, TreeNode, shown
from .words import named_words, process_word

T = TypeVar("T")

_LONGEST = 19  # digits of a number
Kind = Literal["local", "slurm", "ssh"]
NODELIST = "nodelist"  # of ``options``: the nodes that a job gets
KINDS: tuple[Kind, ...] = get_args(Kind)


def _one_line(key: str, node: TreeNode) -> str:
    text: str = checked(Text, key, node)
    if in_line(text) != text:
        raise wrong(key, node, "one line of text without invisible characters")
    return text


def _node_list(key: str, node: TreeNode) -> str:
    from ..node_lists import listed_nodes  # few profiles have one

    text = _one_line(key, node)
    try:
        return hostlist(listed_nodes(text))
    except ValueError as error:
        raise ConfigError(f"{key} {text} in {node.origin}: {error}") from None


# As `export` takes it; other names would end its word, or begin another.
_environment = named_words(r"[A-Za-z_][A-Za-z0-9_]*", "a variable of a shell")
# Lines of an sbatch script: after a line end would come a command.
_options = named_words(
    r"[A-Za-z][A-Za-z0-9_-]*", "an option of sbatch or srun", _one_line, flags=True
)


def _words_of_srun(key: str, node: TreeNode) -> tuple[str, ...]:
    options = _options(key, node).items()
    return tuple(f"--{name}" if value is True else f"--{name}={value}" for name, value in options)


def _commands(key: str, node: TreeNode) -> tuple[str, ...]:
    commands = checked(Texts, key, node)
    return tuple(process_word(key, ScalarNode(each, node.origin)) for each in commands)


def _ports(key: str, node: TreeNode) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{4,5})(?:-(\d{4,5}))?", str(checked(Single, key, node)))
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1024 <= first <= last <= 65535:
        raise wrong(key, node, "a port or a range of ports from 1024 to 65535, as 20000-20999")
    return first, last


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting of a profile; the type of its field is in ``check``."""

    help: str
    check: Check
    is_fixed: bool = False  # once a run is created: --resume refuses it
    flag: str = ""  # on the command line; empty if it does not have one
    metavar: str = ""
    sbatch: str = ""  # the name of sbatch's option; after ``=``, the format of its value

    def from_flag(self, words: str) -> str | int:
        """The value that the command line gives; raises ConfigError if the check refuses it."""
        is_text = self.check in (_one_line, _node_list)
        value = int(words) if words.isdecimal() and len(words) < _LONGEST and not is_text else words
        found: str | int = self.check(self.flag, ScalarNode(value, Origin("the command line")))
        return found


def setting(default: T, help: str, check: Check | None = None, **options: str | bool) -> T:
    """A field of ``RunnerProfile``; ``check`` is that of its type unless it is given.

    The options are those of ``Setting``.
    """
    declared = {"help": help, "check": check, **options}
    return field(default_factory=lambda: default, metadata=declared)


@dataclass(frozen=True)
class RunnerProfile:
    """A profile; None leaves the choice to the cluster, or to the command line."""

    kind: Kind = field(metadata={"help": "how nodes are reached"})
    path: str = ""  # of its file; empty if it was not read from a file
    cluster: Literal["slurm", "local", "debug"] = setting(
        "slurm", "the executor of submitit that runs the jobs"
    )
    nodes: Count | None = setting(None, "the number of nodes, unless --nodes is given")
    timeout: Count = setting(
        60, "the time limit of a job, in minutes",
        flag="--timeout", metavar="MIN", sbatch="time",
    )  # fmt: skip
    gpus_per_node: Natural | None = setting(
        None, "the number of GPUs to request per node (default: that of --gpus)",
        flag="--gpus-per-node", metavar="N", is_fixed=True,
        sbatch="gpus-per-node",
    )  # fmt: skip
    cpus_per_task: Count | None = setting(
        None, "the number of CPUs to request per node",
        sbatch="cpus-per-task",
    )  # fmt: skip
    signal_delay: Natural = setting(
        60, "how many seconds before its time limit a job is told to stop",
        sbatch="signal=USR2@{}",
    )  # fmt: skip
    partition: str | None = setting(
        None, "the partition to submit to", _one_line,
        flag="--partition", metavar="NAME", sbatch="partition",
    )  # fmt: skip
    account: str | None = setting(
        None, "the account to charge", _one_line,
        flag="--account", metavar="NAME", sbatch="account",
    )  # fmt: skip
    qos: str | None = setting(
        None, "the quality of service to request", _one_line,
        flag="--qos", metavar="NAME", sbatch="qos",
    )  # fmt: skip
    exclude: str | None = setting(
        None, "nodes that must not be used; @FILE: those in its lines", _node_list,
        flag="--exclude-nodes", metavar="A,B|@FILE", sbatch="exclude",
    )  # fmt: skip
    constraint: str | None = setting(
        None, "features that the nodes must have", _one_line,
        sbatch="constraint",
    )  # fmt: skip
    # Exclusive, because other jobs on the same nodes would distort the measurements.
    exclusive: bool = setting(True, "whether to keep other jobs off the nodes", sbatch="exclusive")
    gres: bool = setting(
        True, "whether Slurm knows the GPUs of its nodes; if not, none are requested"
    )
    options: Mapping[str, str | bool] = setting(
        {},
        "other options of sbatch, by their long names; true or null: one without a value",
        _options,
    )
    srun_options: tuple[str, ...] = setting(
        (), "options of the srun that starts agents, in the same way", _words_of_srun
    )
    setup: tuple[str, ...] = setting((), "shell commands that run before a node's agent", _commands)
    command_prefix: tuple[str, ...] = setting(
        (), "words before the command of an agent, such as `[numactl, --interleave=all]`", _commands
    )
    container: Container | None = setting(
        None, "the container of agents and programs: its kind, image, mounts and options"
    )
    python: str | None = setting(
        None, "the interpreter of agents and programs (default: this one; python3 of a container)",
        _one_line,
    )  # fmt: skip
    environment: Mapping[str, str] = setting(
        {},
        "environment variables of the agents and of the processes that they start",
        _environment,
    )
    network_interface: str | None = setting(
        None, "the interface by which nodes reach each other, in NCCL and Gloo, too: ib0", _one_line
    )
    rendezvous_ports: tuple[int, int] | None = setting(
        None, "the ports at which ranks meet: 20000-20999 (default: any that is free)", _ports
    )
    array_parallelism: Count = setting(16, "how many jobs of an array run at the same time")
    allocation: Literal["shared", "separate"] = setting(
        "shared", "shared: one job for all benchmarks of a sweep; separate: one job for each",
        flag="--allocation", metavar="{shared,separate}",
    )  # fmt: skip
    launcher: Literal["torchrun", "tasks"] = setting(
        "torchrun", "torchrun; or tasks: the agent starts one process per GPU, without torchrun"
    )
    job_dir: str | None = setting(
        None, "the folder for submitit's files, which all nodes must see "
        "(default: in the run folder)", _one_line,
        flag="--job-dir", metavar="DIR",
    )  # fmt: skip


def _settings() -> Iterator[tuple[str, Setting]]:
    for each in fields(RunnerProfile):
        if each.metadata:
            check = each.metadata.get("check") or typed(each.type)
            yield each.name, Setting(**{**each.metadata, "check": check})


SETTINGS: Mapping[str, Setting] = dict(_settings())


def find_profile(name: str) -> Path:
    """The file that ``--runner`` means: a path, or else the name of a shipped profile."""
    return find_file("runners", "profile", name, "--runner ")


def read_profile(path: Path) -> RunnerProfile:
    """Read a profile; raises ConfigError, with file and line, for a mistake in it."""
    # Imported here: every command needs the settings above, and few need PyYAML (15 ms).
    from .tree import finalize
    from .yaml_reader import read_yaml

    top = finalize(read_yaml(path))
    values = check_entries({name: each.check for name, each in SETTINGS.items()}, top)
    if name := values.get("network_interface"):
        values["environment"] = {
            "NCCL_SOCKET_IFNAME": f"={name}",
            "GLOO_SOCKET_IFNAME": name,
            **values.get("environment", {}),
        }
    if "kind" not in values:
        raise ConfigError(f"{shown(path)}: has no `kind`: it is one of {', '.join(KINDS)}")
    profile = RunnerProfile(**values, path=str(path))
    if not profile.gres and not profile.exclusive:
        raise ConfigError(
            f"{shown(path)}: `gres: false` needs `exclusive: true`: Slurm could give the same GPUs "
            f"to two jobs"
        )
    of_srun = profile.srun_options or (profile.container and profile.container.kind == "pyxis")
    of_agents = of_srun or profile.container or profile.command_prefix or profile.python
    if (of_srun and profile.kind != "slurm") or (of_agents and profile.cluster != "slurm"):
        raise ConfigError(
            f"{shown(path)}: `srun_options` and pyxis need `kind: slurm`; with `cluster: local` or "
            f"`debug` there are no agents, so no `container`, `command_prefix` or `python`"
        )
    return profile


def with_settings(profile: RunnerProfile, settings: Mapping[str, Any]) -> RunnerProfile:
    return replace(profile, **settings)
