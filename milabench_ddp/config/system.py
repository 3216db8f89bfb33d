"""The file ``system.yaml``: the user's description of a machine, which wins over detection."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from ..errors import ConfigError
from ..machine.backends import BACKENDS
from .checks import (
    Check,
    Checks,
    check_keys,
    flag,
    free,
    list_of,
    mapping_of,
    memory_mib,
    number,
    one_of,
    path,
    text,
    whole,
    wrong,
)
from .merge import MULTIRUN, multirun_warning
from .read import read_yaml
from .sizing import BatchSizing, CpuSizing, SizingOptions
from .tree import Origin, TreeNode, finalize, shown, value_of


class SystemNode(Struct, frozen=True):
    """One host of ``system.nodes``."""

    name: str
    ip: str
    user: str | None = None
    main: bool = False  # the node that coordinates
    sshport: int = 22


class System(Struct, frozen=True):
    """The mapping ``system:``; None if the file does not say, so that detection decides."""

    arch: str | None = None
    sshkey: Path | None = None
    nodes: tuple[SystemNode, ...] = ()
    gpu_capacity_mib: float | None = None
    gpu_count: int | None = None
    gpu_capability: float | None = None
    options: SizingOptions = field(default_factory=SizingOptions)
    warnings: tuple[str, ...] = ()  # what milabench takes, and what has no effect here


def read_system(file: Path) -> System:
    """Read a system file; raises ConfigError, with file and line, for a mistake in it."""
    warnings: list[str] = []
    top = finalize(read_yaml(file, warnings.append))
    check_keys({"system", MULTIRUN}, top)
    if MULTIRUN in top.entries:
        origin = top.entries[MULTIRUN].origin
        warnings.append(multirun_warning(origin))
    system = top.get("system")
    if system is None:
        raise ConfigError(f"{shown(file)}: has no `system:`")
    values = mapping_of(_SYSTEM)("system", system)
    gpu, options = values.get("gpu", {}), values.get("options", {})
    return System(
        arch=values.get("arch"),
        sshkey=values.get("sshkey"),
        nodes=values.get("nodes", ()),
        gpu_capacity_mib=gpu.get("capacity"),
        gpu_count=gpu.get("count"),
        gpu_capability=gpu.get("capability"),
        options=SizingOptions(
            options.get("sizer", BatchSizing()), CpuSizing(**options.get("cpu", {}))
        ),
        warnings=tuple(warnings),
    )


def _nodes(key: str, node: TreeNode) -> tuple[SystemNode, ...]:
    nodes = []
    for values in list_of(mapping_of(_NODE, required=["name"]))(key, node):
        values.setdefault("ip", values["name"])
        for name in _UNUSED:
            values.pop(name, None)
        nodes.append(SystemNode(**values))
    _check_nodes(nodes, node.origin)
    return tuple(nodes)


def _check_nodes(nodes: Sequence[SystemNode], origin: Origin) -> None:
    names = [node.name for node in nodes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two nodes are named `{name}` ({origin})")
    main = sum(node.main for node in nodes)
    if main > 1:
        raise ConfigError(f"{main} nodes are `main` ({origin}): only one node can be")


def _sizer(key: str, node: TreeNode) -> BatchSizing:
    values: dict[str, Any] = mapping_of(_SIZER)(key, node)
    saved = values.pop("save", None)
    scaling = values.pop("config", saved)
    return BatchSizing(capacity_mib=values.pop("capacity", None), scaling=scaling, **values)


def _switch(key: str, node: TreeNode) -> bool:
    """True or false; milabench also writes 1 and 0."""
    value = value_of(node)
    return bool(value) if value in (0, 1) else bool(flag(key, node))


def _capacity(key: str, node: TreeNode) -> float | None:
    return None if value_of(node) == "All" else memory_mib(key, node)


def _word(expected: str, pattern: str) -> Check:
    """A text that is made of such characters alone, and that no program takes for an option."""
    accepted = re.compile(pattern)

    def check(key: str, node: TreeNode) -> str:
        stated: str = text(key, node)
        if not accepted.fullmatch(stated):
            raise wrong(key, node, expected)
        return stated

    return check


_UNUSED = {"hostname", "port"}  # of a node, which milabench reads
_NODE: Checks = {
    "hostname": text,
    "ip": _word("an address or the name of a host", r"[A-Za-z0-9:_][A-Za-z0-9.:%_-]*"),
    "main": flag,
    "name": _word("a name of letters, digits and any of `_ . : -`", r"\w[\w.:-]*"),
    "port": whole(1),
    "sshport": whole(1),
    "user": _word("the name of a user", r"\w[\w.@+\\-]*"),
}
_SIZER: Checks = {
    "auto": _switch,
    "batch_size": whole(1),
    "capacity": _capacity,
    "config": path,  # the scaling file to read
    "multiple": whole(1),
    "power": whole(2),
    "save": path,  # the scaling file that milabench writes; read where there is no `config`
}
_CPU: Checks = {
    "auto": _switch,
    "max": whole(1),
    "min": whole(1),
    "n_workers": whole(0),
    "reserved_cores": whole(0),
}
_SYSTEM: Checks = {
    "arch": one_of(*BACKENDS),
    "docker": free,
    "docker_image": text,
    "gpu": mapping_of(
        {"capability": number("a number, 9.0 say", 0), "capacity": _capacity, "count": whole(1)}
    ),
    "nodes": _nodes,
    "options": mapping_of({"cpu": mapping_of(_CPU), "sizer": _sizer}),
    "sshkey": path,
}
