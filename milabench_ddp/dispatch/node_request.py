"""The nodes that a command asks for; it needs no runner, which takes long to import."""

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from ..machine.detect import detect, synthetic_cluster
from ..machine.devices import Cluster

if TYPE_CHECKING:  # few commands are given a system file
    from ..config.system import SystemNode


class NodeRequest(Struct, frozen=True):
    """The requested nodes; None means the devices of this host."""

    nodes: int
    devices: int | None  # per node
    kind: str | None  # of device
    hosts: "tuple[SystemNode, ...]" = ()  # those of the system file
    cpus: int | None = None  # per node

    def detect(self) -> Cluster:
        """This host with such devices.

        Raises:
            MachineError: this host does not have them.
        """
        return detect(self.kind, self.devices, os.environ)


def synthetic_nodes(request: NodeRequest) -> Cluster:
    """A synthetic cluster of the requested nodes; they have the devices of this host by default."""
    if request.devices is None:
        host = request.detect()
        return synthetic_cluster(
            host.arch, request.nodes, len(host.nodes[0].devices), host.nodes[0].cpu_count
        )
    kind = request.kind or "cuda"
    return synthetic_cluster(kind, request.nodes, request.devices, request.cpus)
