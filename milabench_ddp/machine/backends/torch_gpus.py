"""The GPUs that torch finds where the library of their driver is missing: asked in a process."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...errors import MachineError
from ..devices import Device
from ..host import cpus_beside
from .backend import DriverError

# HIP's UUID is the kernel's number as text.
_ASK = """
import json
print('{"stage": "imports torch"}', flush=True)
import torch
print('{"stage": "initialises the GPUs"}', flush=True)
torch.cuda.init()
is_amd, gpus = torch.version.hip is not None, []
for gpu in map(torch.cuda.get_device_properties, range(torch.cuda.device_count())):
    uuid = str(gpu.uuid)
    if is_amd:
        uuid = bytes.fromhex(uuid.replace("-", "")).decode("ascii", "replace")
    bus = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
    capability = 0 if is_amd else float(f"{gpu.major}.{gpu.minor}")
    gpus.append((f"GPU-{uuid}", gpu.name, gpu.total_memory >> 20, bus, capability))
print(json.dumps({"done": True, "is_amd": is_amd, "gpus": gpus}))
"""
_ADVICE = (  # for NVIDIA's, for AMD's
    "to a container it comes by `utility` in NVIDIA_DRIVER_CAPABILITIES",
    "install rocm-smi-lib, and set ROCM_PATH if it is not below /opt/rocm",
)
_LIMIT = 60.0  # seconds


def seen_by_torch(
    why: DriverError, environ: Mapping[str, str], *, of_amd: bool
) -> tuple[list[Device], str]:
    """The GPUs of this host in torch's order, also hidden ones, and what to tell of them.

    It takes seconds: ask only where the kernel shows a GPU. ``why`` is what the driver's library
    said instead.
    """
    kept = {name: value for name, value in environ.items() if "VISIBLE_DEVICES" not in name}
    kept["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    told = _asked(sys.executable, frozenset(kept.items()))
    if problem := told.get("problem"):
        return [], f"{why}; torch cannot be asked: {problem}"
    devices = [
        Device(k, str(k) if of_amd else uuid, name, memory, cpus_beside(bus), capability, uuid)
        for k, (uuid, name, memory, bus, capability) in enumerate(told["gpus"])
    ]
    if told["is_amd"] != of_amd or not devices:
        return [], f"{why}; torch finds none, either"
    return devices, (
        f"torch finds {len(devices)} GPUs that the library of their driver does not tell ({why}): "
        f"they are measured without a monitor; {_ADVICE[of_amd]}"
    )


@cache
def _asked(python: str, environ: frozenset[tuple[str, str]]) -> dict[str, Any]:
    from ..preflight import run_check  # few hosts need it

    try:
        return run_check([python, "-P", "-c", _ASK], dict(environ), _LIMIT)
    except MachineError as error:
        return {"problem": str(error)}
