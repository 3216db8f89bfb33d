"""The machine as types: devices in nodes in a cluster."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A GPU, or a slot of CPU cores that stands in for one."""

    index: int  # physical index on its node: the `0` of the tag `D0`
    id: str  # what the visibility variable takes: an index or a UUID
    name: str = ""
    memory_mib: float = 0.0
    cpus: tuple[int, ...] = ()  # the cores of a CPU slot


@dataclass(frozen=True)
class Node:
    """One host, and the devices on it that may be used."""

    name: str
    devices: tuple[Device, ...]
    cpu_count: int


@dataclass(frozen=True)
class Cluster:
    """Nodes with the same kind of device; the first node is the one where rank 0 runs."""

    arch: str  # the name of a device back-end: cuda, rocm, hpu, xpu or cpu
    nodes: tuple[Node, ...]

    @property
    def has_gpu(self) -> bool:
        """Whether its devices are GPUs."""
        return self.arch != "cpu"
