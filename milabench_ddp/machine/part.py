"""A host that stands in for several nodes: each has a part of its devices and of its cores."""

from collections.abc import Mapping

from .detect import detect
from .devices import Node


def part(device: str, gpus: int, rank: int, nodes: int, environ: Mapping[str, str]) -> Node:
    """Node ``rank`` of ``nodes`` on this host, with ``gpus`` devices of its own.

    Raises:
        MachineError: there are not so many devices.
    """
    whole = detect(device, gpus * nodes, environ).cluster.nodes[0]
    mine = whole.devices[rank * gpus : (rank + 1) * gpus]
    return Node(f"node{rank}", mine, max(1, whole.cpu_count // nodes))
