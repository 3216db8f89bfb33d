"""The GPUs that torch finds where the library of their driver is missing: asked in a process."""

import sys
from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec import Struct

from ...errors import MachineError
from ..devices import Device
from ..host import cpus_beside
from .backend import DriverError

_ASK = """
import json
print(json.dumps({"stage": "imports torch"}), flush=True)
import torch
print(json.dumps({"stage": "initialises the GPUs"}), flush=True)
torch.cuda.init()
found = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
gpus = [
    {
        "name": gpu.name,
        "memory_mib": gpu.total_memory >> 20,
        "capability": float(f"{gpu.major}.{gpu.minor}"),
        "uuid": str(getattr(gpu, "uuid", "")),
        "bus": f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0",
    }
    for gpu in found
]
print(json.dumps({"done": True, "hip": torch.version.hip is not None, "gpus": gpus}))
"""

_ADVICE = (  # for NVIDIA's, for AMD's
    "to a container it comes by `utility` in NVIDIA_DRIVER_CAPABILITIES",
    "install rocm-smi-lib, and set ROCM_PATH if it is not below /opt/rocm",
)
_LIMIT = 60.0  # seconds


class TorchGpu(Struct, frozen=True):
    """A GPU as torch tells it."""

    name: str
    memory_mib: float
    capability: float
    uuid: str
    bus: str  # its PCI address

    def device(self, index: int, *, of_amd: bool) -> Device:
        # HIP's UUID is the 16 digits of the kernel's number as text
        uuid = (
            bytes.fromhex(self.uuid.replace("-", "")).decode("ascii", "replace")
            if of_amd
            else self.uuid
        )
        id, cpus = f"GPU-{uuid}", cpus_beside(self.bus)
        if of_amd:
            return Device(index, str(index), self.name, self.memory_mib, cpus, uuid=id)
        return Device(index, id, self.name, self.memory_mib, cpus, self.capability, id)


def seen_by_torch(
    why: DriverError, is_hinted: bool, environ: Mapping[str, str], *, of_amd: bool
) -> tuple[list[Device], str]:
    """The GPUs of this host in torch's order, also hidden ones, and what to tell of them.

    Args:
        why: the driver's library does not tell them.
        is_hinted: the kernel shows a GPU. Without one torch, which takes seconds, is not asked.
    """
    if not is_hinted:
        return [], str(why)
    kept = {name: value for name, value in environ.items() if "VISIBLE_DEVICES" not in name}
    kept["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    try:
        hip, gpus = _asked(sys.executable, frozenset(kept.items()))
    except MachineError as error:
        return [], f"{why}; torch cannot be asked: {error}"
    if hip != of_amd or not gpus:
        return [], f"{why}; torch finds none, either"
    return [gpu.device(index, of_amd=of_amd) for index, gpu in enumerate(gpus)], (
        f"torch finds {len(gpus)} GPUs that the library of their driver does not tell ({why}): "
        f"they are measured without a monitor; {_ADVICE[of_amd]}"
    )


@cache
def _asked(python: str, environ: frozenset[tuple[str, str]]) -> tuple[bool, list[TorchGpu]]:
    from ..preflight import told_by  # few hosts need it

    told = told_by([python, "-P", "-c", _ASK], dict(environ), _LIMIT)
    return told["hip"], msgspec.convert(told["gpus"], list[TorchGpu])
