"""AMD's GPUs, in the order of the kernel (KFD), which HIP has, too, and rocm_smi has not."""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ..devices import Device
from ..host import cpus_beside
from .voir import VoirBackend


class AmdBackend(VoirBackend):
    """GPUs of AMD."""

    name = "rocm"
    vendor = "AMD"
    collectives = "rccl"
    torch_device = "cuda"
    # HIP's, not ROCR's: HIP counts within what ROCR leaves, so a caller's ROCR stays in force.
    visibility_variable = "HIP_VISIBLE_DEVICES"
    caller_variables = (
        ("ROCR_VISIBLE_DEVICES",),
        ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    )

    def may_be_present(self, root: Path = Path("/")) -> bool:
        return (root / "dev/kfd").exists()

    def devices(self) -> list[Device]:
        return in_order_of_kernel(super().devices(), kernel_gpus())


def kernel_gpus(root: Path = Path("/")) -> dict[str, str]:
    """The PCI addresses by UUID of the GPUs that are open to this process, in HIP's order."""
    found = {}
    nodes = (root / "sys/class/kfd/kfd/topology/nodes").glob("[0-9]*/properties")
    for path in sorted(nodes, key=lambda path: int(path.parent.name)):
        try:
            lines = path.read_text().splitlines()
            facts = {name: int(value) for name, value in map(str.split, lines)}
        except (OSError, ValueError):  # of another container
            continue
        if facts.get("simd_count"):  # else it is a CPU
            place = facts["location_id"]
            bus = f"{facts.get('domain', 0):04x}:{place >> 8:02x}:{place >> 3 & 31:02x}.{place & 7}"
            found[f"GPU-{facts.get('unique_id', 0):016x}"] = bus
    return found


def in_order_of_kernel(
    devices: list[Device], gpus: Mapping[str, str], root: Path = Path("/")
) -> list[Device]:
    """The devices in the order of ``gpus``, as their ids count them, with the cores beside them.

    Where the kernel does not tell the UUIDs of exactly these, as in partitions, they stay as they
    are, and have none: HIP's are the kernel's.
    """
    known = {device.uuid: device for device in devices}
    if known.keys() != gpus.keys() or len(known) < len(devices):
        return [replace(device, uuid="") for device in devices]
    return [
        replace(known[uuid], id=str(place), cpus=cpus_beside(bus, root))
        for place, (uuid, bus) in enumerate(gpus.items())
    ]
