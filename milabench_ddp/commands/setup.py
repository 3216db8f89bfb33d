"""What every command that reads a configuration needs first: folders, devices, facts, suite."""

import argparse
import os
import sys
from pathlib import Path

from ..config.facts import MachineFacts
from ..config.load import SuiteRequest
from ..config.runner import Runner
from ..config.shipped import shipped_root
from ..config.system import System, read_system
from ..errors import MachineError
from ..machine.detect import Detection, detect
from ..machine.devices import Cluster
from ..machine.pretend import pretend
from ..plan.site import Site


def base_folder(options: argparse.Namespace) -> Path:
    """``--base``, else ``$MILABENCH_BASE``, else the current folder; absolute."""
    return Path(options.base or os.environ.get("MILABENCH_BASE") or ".").expanduser().absolute()


def request(options: argparse.Namespace, system: System | None) -> SuiteRequest:
    """What the command line asks of the configuration."""
    return SuiteRequest(
        config=options.config,
        select=tuple(options.select),
        exclude=tuple(options.exclude),
        overrides=tuple(options.override),
        preset=options.preset,
        system=system,
        nodes=options.nodes or (),
    )


def system(options: argparse.Namespace) -> System | None:
    """The system file, where one is given."""
    return read_system(Path(options.system)) if options.system else None


def this_host(options: argparse.Namespace, given: System | None) -> Detection:
    """The devices of this host that were asked for; a system file stands in for missing options."""
    count = options.gpus or (given.gpu_count if given else None)
    return detect(options.device or (given.arch if given else None), count, os.environ)


def node_count(options: argparse.Namespace, given: System | None) -> int:
    """How many nodes are asked for: the most of ``--nodes``, or those of a system file, or one."""
    return max(options.nodes or (), default=len(given.nodes) if given else 0) or 1


def described(options: argparse.Namespace, given: System | None) -> tuple[Cluster, bool]:
    """This host where it has what is asked for; else nodes as they are asked for, made up.

    Returns:
        the cluster, and whether it is made up.
    """
    nodes = node_count(options, given)
    count = options.gpus or (given.gpu_count if given else None)
    arch = options.device or (given.arch if given else None)
    if nodes == 1:
        try:
            here = this_host(options, given).cluster
        except MachineError:
            if count is None:
                raise
        else:
            if here.has_gpu or count is None or arch == "cpu":
                return here, False
    if count is None:
        count = len(this_host(options, given).cluster.nodes[0].devices)
    return pretend(arch or "cuda", nodes, count), True


def facts(cluster: Cluster, given: System | None, base: Path) -> MachineFacts:
    """What a configuration may ask about this cluster."""
    node = cluster.nodes[0]
    if not node.devices:
        raise MachineError(f"node {node.name} has no device")
    device = node.devices[0]
    capacity = given.gpu_capacity_mib if given else None
    return MachineFacts(
        arch=cluster.arch,
        node_count=len(cluster.nodes),
        gpu_count=len(node.devices),
        cpu_count=node.cpu_count,
        device_name=device.name,
        gpu_capacity_mib=device.memory_mib if capacity is None else capacity,
        base=base,
    )


def here(options: argparse.Namespace) -> tuple[SuiteRequest, MachineFacts]:
    """What is asked of the configuration, and what it may ask about the machine."""
    given = system(options)
    cluster, _ = described(options, given)
    return request(options, given), facts(cluster, given, base_folder(options))


def site(base: Path, runner: Runner | None = None) -> Site:
    """This interpreter, those of ``<base>/venv/<install group>``, and the shipped voir shim."""
    launcher = runner.launcher if runner else "torchrun"
    pythons = sorted((base / "venv").glob("*/bin/python"))
    shim = shipped_root() / "benchmarks" / "common" / "with_voir.py"
    venvs = {p.parent.parent.name: str(p) for p in pythons}
    return Site(sys.executable, venvs, shim, launcher)


def describe(cluster: Cluster) -> str:
    """The devices in a few words: ``8 x NVIDIA H100``, ``2 CPU slots``, ``4 nodes of ...``."""
    devices = cluster.nodes[0].devices
    names = " and ".join(sorted({d.name for d in devices if d.name}))
    if cluster.has_gpu:
        one = f"{len(devices)} x {names or f'{cluster.arch} GPU'}"
    else:
        one = f"{len(devices)} CPU slot{'s' * (len(devices) > 1)}"
        one += f" of {names}" if names else ""
    return one if len(cluster.nodes) == 1 else f"{len(cluster.nodes)} nodes of {one}"
