"""The facts of the machine that a configuration may use in placeholders and conditions."""

from pathlib import Path

from msgspec import Struct

from ..machine.backends import BACKENDS


class MachineFacts(Struct, frozen=True):
    """Facts of one node (all nodes are alike) and the folder of all data and runs."""

    arch: str  # cuda, rocm, hpu, xpu or cpu
    node_count: int
    gpu_count: int  # devices of a node: GPUs, or CPU slots
    cpu_count: int  # CPUs of a node
    device_name: str
    gpu_capacity_mib: float  # memory of one device; 0 where it is not known
    base: Path
    gpu_capability: float = 0.0  # CUDA's, such as 9.0; 0 where it is not known

    @property
    def ccl(self) -> str:
        """The collective communications library of the architecture."""
        return BACKENDS[self.arch].collectives

    @property
    def cpu_per_gpu(self) -> int:
        """CPUs for each device, at least one."""
        return max(1, self.cpu_count // max(1, self.gpu_count))
