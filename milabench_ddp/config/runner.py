"""Runner profiles, ``runners/*.yaml``: where a run happens, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, did_you_mean
from .checks import Check, flag, one_of, only, single, text, texts, whole, wrong
from .merge import settle
from .paths import expanded, shown
from .read import read
from .shipped import shipped_root
from .tree import Node, Table, is_null, plain, scalar_text


@dataclass(frozen=True)
class Runner:
    """A profile; None where it leaves the choice to the cluster, or to the command line."""

    kind: str  # local, slurm or ssh
    path: str = ""
    cluster: str = "slurm"  # submitit's executor: slurm, local or debug
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    timeout: int = 60  # minutes of a job
    nodes: int | None = None
    gpus_per_node: int | None = None
    cpus_per_task: int | None = None
    exclude: str | None = None
    constraint: str | None = None
    setup: tuple[str, ...] = ()  # shell commands before a node's agent starts
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)  # of sbatch, by their long names
    array_parallelism: int = 16
    signal_delay: int = 60  # seconds before its time limit that a job hears of it
    allocation: str = "shared"  # shared: one job runs all points; separate: a job for each
    exclusive: bool = True  # nobody else's job on the nodes: it would be in the figures
    launcher: Literal["torchrun", "tasks"] = "torchrun"  # tasks: a process for each GPU without it
    job_dir: str | None = None  # of submitit; in the run folder unless it is given


def find_runner(name: str) -> Path:
    """The file that ``--runner`` means: a path, or else the name of a shipped profile.

    Raises ConfigError where it is neither, with a suggestion.
    """
    path = expanded(name)
    if path.is_file():
        return path
    known = shipped_profiles()
    if name.removesuffix(".yaml") in known:
        return known[name.removesuffix(".yaml")]
    hint = did_you_mean(name, known) or f"; shipped are: {', '.join(known)}"
    raise ConfigError(f"--runner {name}: no such file, and no shipped profile of that name{hint}")


def shipped_profiles() -> dict[str, Path]:
    """The profiles that come with the package, by their names, in their order."""
    folder = shipped_root() / "runners"
    return {str(p.relative_to(folder).with_suffix("")): p for p in sorted(folder.rglob("*.yaml"))}


def read_runner(path: Path) -> Runner:
    """Read a profile; raises ConfigError, with file and line, for what is wrong in it."""
    top = settle(read(path))
    only(_RUNNER, top)
    for key, node in top.entries.items():
        if not is_null(node):
            _RUNNER[key](key, node)
    values = {key: value for key, value in plain(top).items() if value is not None}
    if "kind" not in values:
        raise ConfigError(f"{shown(path)}: has no `kind`: local, slurm or ssh")
    for key in ("environment", "options"):
        values[key] = {name: scalar_text(v) for name, v in values.get(key, {}).items()}
    values["setup"] = tuple(values.get("setup", ()))
    return Runner(**{**values, "path": str(path)})


def runner_of(values: Mapping[str, Any]) -> Runner:
    """A profile as a run's plan has it."""
    known = {each.name for each in fields(Runner)}
    kept = {key: value for key, value in values.items() if key in known}
    return Runner(**{**kept, "setup": tuple(kept.get("setup", ()))})


def _scalars(key: str, node: Node) -> None:
    if not isinstance(node, Table):
        raise wrong(key, node, "a mapping")
    for name, value in node.entries.items():
        single(f"{key}.{name}", value)


_RUNNER: Mapping[str, Check] = {
    "account": text,
    "allocation": one_of("shared", "separate"),
    "array_parallelism": whole(1),
    "cluster": one_of("slurm", "local", "debug"),
    "constraint": text,
    "cpus_per_task": whole(1),
    "environment": _scalars,
    "exclude": text,
    "exclusive": flag,
    "gpus_per_node": whole(0),
    "job_dir": text,
    "kind": one_of("local", "slurm", "ssh"),
    "launcher": one_of("torchrun", "tasks"),
    "nodes": whole(1),
    "options": _scalars,
    "partition": text,
    "qos": text,
    "setup": texts,
    "signal_delay": whole(0),
    "timeout": whole(1),
}
