"""AMD's GPUs, in the order of the kernel (KFD), which HIP has, too, and rocm_smi has not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from ..devices import Device
from ..host import cpus_beside
from .backend import Reading
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

    @contextmanager
    def source(
        self, devices: Sequence[Device], root: Path = Path("/")
    ) -> Iterator[Callable[[], Reading]]:
        places = kernel_gpus(root)
        with super().source(devices) as read:

            def read_with_errors() -> Reading:
                reading = read()
                samples = dict(reading.samples)
                for device in devices:
                    if device.index in samples and device.uuid in places:
                        counts = memory_errors(places[device.uuid], root)
                        samples[device.index] = replace(samples[device.index], ecc=counts)
                return replace(reading, samples=samples)

            yield read_with_errors


def memory_errors(bus: str, root: Path = Path("/")) -> tuple[int, int] | None:
    """The corrected and the uncorrected errors of a GPU, of all its parts that RAS watches.

    They are since its driver was loaded; None where it does not tell them.
    """
    found = []
    for path in (root / "sys/bus/pci/devices" / bus / "ras").glob("*_err_count"):
        try:
            lines = (line.partition(":") for line in path.read_text().splitlines())
            counts = {name.strip(): int(value) for name, _, value in lines}
            found.append((counts["ce"], counts["ue"]))
        except (OSError, ValueError, KeyError):  # a part without such counts
            continue
    return (sum(each[0] for each in found), sum(each[1] for each in found)) if found else None


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
