"""The types of a machine: devices, nodes and clusters."""

from msgspec import Struct

MOST_DEVICES = 2**17  # of all nodes that can be planned


class Device(Struct, frozen=True):
    """A GPU, or a slot of CPU cores that stands in for one."""

    index: int  # physical index on its node: the `0` of the tag `D0`
    id: str  # its name in the visibility variable: an index or a UUID
    name: str = ""
    memory_mib: float = 0.0
    # The cores of a CPU slot, or those next to a GPU; empty if a process may use any.
    cpus: tuple[int, ...] = ()
    capability: float = 0.0  # CUDA's, such as 9.0; 0 if unknown, or without CUDA
    uuid: str = ""  # such as GPU-8af705259683161c; empty where the driver is to be asked for it


class Node(Struct, frozen=True):
    """One host, and the devices on it that may be used."""

    name: str
    devices: tuple[Device, ...]
    cpu_count: int
    notes: tuple[str, ...] = ()  # for the user: devices that are left out, and why


class Cluster(Struct, frozen=True):
    """Nodes with the same kind of device; the first node is the one where rank 0 runs."""

    arch: str  # the name of a device back-end: cuda, rocm, hpu, xpu or cpu
    nodes: tuple[Node, ...]
    visible: int = 0  # how many GPUs this host offers, of which fewer may be used; 0 elsewhere
    is_synthetic: bool = False  # it stands for other machines, which are not known

    @property
    def has_gpu(self) -> bool:
        return self.arch != "cpu"
