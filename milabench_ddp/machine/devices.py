"""The types of a machine: devices, nodes and clusters, and the facts of measured devices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_DEVICES = 2**17  # of all nodes that can be planned


@dataclass(frozen=True)
class Device:
    """A GPU, or a slot of CPU cores that stands in for one."""

    index: int  # physical index on its node: the `0` of the tag `D0`
    id: str  # its name in the visibility variable: an index or a UUID
    name: str = ""
    memory_mib: float = 0.0
    # The cores of a CPU slot, or those next to a GPU; empty if a process may use any.
    cpus: tuple[int, ...] = ()
    capability: float = 0.0  # CUDA's, such as 9.0; 0 if unknown, or without CUDA


@dataclass(frozen=True)
class Node:
    """One host, and the devices on it that may be used."""

    name: str
    devices: tuple[Device, ...]
    cpu_count: int
    notes: tuple[str, ...] = ()  # for the user: devices that are left out, and why


@dataclass(frozen=True)
class Cluster:
    """Nodes with the same kind of device; the first node is the one where rank 0 runs."""

    arch: str  # the name of a device back-end: cuda, rocm, hpu, xpu or cpu
    nodes: tuple[Node, ...]

    @property
    def has_gpu(self) -> bool:
        """Whether its devices are GPUs."""
        return self.arch != "cpu"


@dataclass(frozen=True)
class Accelerator:
    """The facts of a device that was measured; None for a fact that the driver does not tell."""

    device: int  # its index
    id: str
    product: str
    memory: Mapping[str, float]  # used and total, MiB
    uuid: str | None = None
    capability: str | None = None  # CUDA's: "9.0"
    vbios: str | None = None
    power_limit: float | None = None  # W, the power cap that is in force
    default_power_limit: float | None = None  # W, what it is unless someone sets it
    clocks_max: Mapping[str, int | None] | None = None  # sm and memory, MHz
    pcie: Mapping[str, str | int | None] | None = (
        None  # bus_id, and the greatest generation and width
    )
    ecc: bool | None = None
    cpus: str | None = None  # the cores next to it: "0-47,96-143"


@dataclass(frozen=True)
class Accelerators:
    """The devices that were measured, and versions of their driver."""

    arch: str
    gpus: Mapping[str, Accelerator] = field(default_factory=dict)  # by index
    driver: str | None = None
    cuda_driver: str | None = None
    nvml: str | None = None
    notes: tuple[str, ...] | None = None  # those of the node
