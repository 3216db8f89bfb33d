"""``system.yaml``: what a person says of the machine, which wins over what is detected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..machine.backends import BACKENDS
from .checks import Check, flag, free, list_of, mapping, one_of, only, text, whole
from .merge import settle
from .paths import expanded, shown
from .quantity import mebibytes
from .read import read
from .sizing import CpuOptions, Options, SizerOptions
from .tree import Leaf, Node, Table, plain


@dataclass(frozen=True)
class SystemNode:
    """One host of ``system.nodes``."""

    name: str
    ip: str
    user: str | None = None
    main: bool = False  # the node that leads
    sshport: int = 22


@dataclass(frozen=True)
class System:
    """``system:``; None where the file does not say, so that detection decides."""

    arch: str | None = None
    sshkey: Path | None = None
    nodes: tuple[SystemNode, ...] = ()
    gpu_capacity_mib: float | None = None
    gpu_count: int | None = None
    options: Options = field(default_factory=Options)


def read_system(path: Path) -> System:
    """Read a system file; raises ConfigError with file and line for what is wrong in it."""
    top = settle(read(path))
    only({"system", "multirun"}, top)
    system = top.entries.get("system")
    if system is None:
        raise ConfigError(f"{shown(path)}: has no `system:`")
    mapping(_SYSTEM)("system", system)
    assert isinstance(system, Table)
    nodes = system.entries.get("nodes")
    if nodes is not None:
        _check_nodes(nodes)
    values = plain(system)
    gpu = values.get("gpu") or {}
    return System(
        arch=values.get("arch"),
        sshkey=_path(values.get("sshkey"), system),
        nodes=tuple(_node(node) for node in values.get("nodes") or ()),
        gpu_capacity_mib=_memory(system, "gpu", "capacity"),
        gpu_count=gpu.get("count"),
        options=_options(system, values.get("options") or {}),
    )


def _memory(table: Table, *keys: str) -> float | None:
    node: Node | None = table
    for key in keys:
        node = node.entries.get(key) if isinstance(node, Table) else None
    if node is None or (isinstance(node, Leaf) and node.value in (None, "All")):
        return None
    return mebibytes(node)


def _path(value: str | None, stated: Table) -> Path | None:
    return None if value is None else stated.origin.folder / expanded(value)


def _node(values: Mapping[str, Any]) -> SystemNode:
    return SystemNode(
        name=values["name"],
        ip=values.get("ip") or values["name"],
        user=values.get("user"),
        main=bool(values.get("main")),
        sshport=values.get("sshport") or 22,
    )


def _check_nodes(nodes: Node) -> None:
    seen: set[str] = set()
    leading = 0
    for values in plain(nodes):
        if values["name"] in seen:
            raise ConfigError(f"two nodes are named `{values['name']}` ({nodes.origin})")
        seen.add(values["name"])
        leading += bool(values.get("main"))
    if leading > 1:
        raise ConfigError(f"{leading} nodes are `main` ({nodes.origin}): one node leads")


def _options(system: Table, values: Mapping[str, Any]) -> Options:
    cpu = {k: v for k, v in (values.get("cpu") or {}).items() if v is not None}
    sizer = {k: v for k, v in (values.get("sizer") or {}).items() if v is not None}
    scaling = sizer.get("config") or sizer.get("save")
    return Options(
        SizerOptions(
            auto=bool(sizer.get("auto")),
            batch_size=sizer.get("batch_size"),
            multiple=sizer.get("multiple", SizerOptions.multiple),
            power=sizer.get("power"),
            capacity_mib=_memory(system, "options", "sizer", "capacity"),
            scaling=_path(scaling, system),
        ),
        CpuOptions(**{**cpu, "auto": bool(cpu.get("auto"))}),
    )


def _switch(key: str, node: Node) -> None:
    """milabench writes 1 and 0 as well as true and false."""
    if not (isinstance(node, Leaf) and node.value in (0, 1)):
        flag(key, node)


def _amount(key: str, node: Node) -> None:
    del key
    if not (isinstance(node, Leaf) and node.value == "All"):
        mebibytes(node)


_NODE: Mapping[str, Check] = {
    "hostname": text,
    "ip": text,
    "main": flag,
    "name": text,
    "port": whole(1),
    "sshport": whole(1),
    "user": text,
}
_SIZER: Mapping[str, Check] = {
    "auto": _switch,
    "batch_size": whole(1),
    "capacity": _amount,
    "config": text,  # the scaling file to read
    "multiple": whole(1),
    "power": whole(2),
    "save": text,  # the scaling file that milabench writes; read where there is no `config`
}
_CPU: Mapping[str, Check] = {
    "auto": _switch,
    "max": whole(1),
    "min": whole(1),
    "n_workers": whole(0),
    "reserved_cores": whole(0),
}
_SYSTEM: Mapping[str, Check] = {
    "arch": one_of(*BACKENDS),
    "docker": free,
    "docker_image": text,
    "gpu": mapping({"capacity": _amount, "count": whole(1)}),
    "nodes": list_of(mapping(_NODE, required=["name"])),
    "options": mapping({"cpu": mapping(_CPU), "sizer": mapping(_SIZER)}),
    "sshkey": text,
}
