"""What the data sheet of a device promises, from what its driver and its bus tell.

Both are upper bounds that no program reaches: the share of them is what a reader can compare
between devices of different kinds.
"""

import re
from pathlib import Path

import torch

from benchmarks.common.precision import rocm_arch

# GB/s, by AMD's data sheets: from HBM3 on HIP tells the clock of the memory's controller, and the
# formula would tell half of it or less. It is right for HBM2.
AMD_GB_S = {"MI300": 5300, "MI325": 6000, "MI350": 8000, "MI355": 8000}
AMD_OF_HBM2 = ("gfx906", "gfx908", "gfx90a")
PCI_DEVICES = Path("/sys/bus/pci/devices")
# Payload bits over bits on the wire, by the generation's speed: 8b/10b, 128b/130b, and from PCIe 6
# on flits of 242 of 256 bytes (PCI Express Base Specification 6.0, 4.2.3.1).
ENCODING = ((8, 8 / 10), (64, 128 / 130), (float("inf"), 242 / 256))


def memory_gb_s(device: torch.device) -> float | None:
    """The bandwidth of a GPU's memory in GB/s (1e9 bytes); None if it is not known.

    Two transfers in each clock, over the width of the bus: the formula of Triton's
    ``get_dram_gbps``. An H100 SXM has 2619 MHz and 5120 bits: 3352 GB/s.
    """
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip is not None and rocm_arch(device) not in AMD_OF_HBM2:
        return next((gb_s for name, gb_s in AMD_GB_S.items() if name in properties.name), None)
    kilohertz = getattr(properties, "memory_clock_rate", 0)
    bits = getattr(properties, "memory_bus_width", 0)
    return 2 * kilohertz * 1e3 * bits / 8 / 1e9 or None


def link_gb_s(device: torch.device, pci_devices: Path = PCI_DEVICES) -> float | None:
    """The bandwidth of a GPU's PCIe link in one direction, in GB/s; None if nothing tells it.

    It is that of the device's fastest link: a slot or a riser that has fewer lanes shows as a small
    share of it. The current speed says nothing, because idle links slow down.
    """
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    try:
        domain, bus, slot = (
            getattr(properties, f"pci_{part}_id") for part in ("domain", "bus", "device")
        )
        folder = pci_devices / f"{domain:04x}:{bus:02x}:{slot:02x}.0"
        speed = (folder / "max_link_speed").read_text()  # such as "32.0 GT/s PCIe"
        lanes = int((folder / "max_link_width").read_text())
    except (AttributeError, OSError, ValueError):
        return None
    found = re.match(r"(\d+(?:\.\d+)?) GT/s", speed)
    if not found or not lanes:
        return None
    transfers = float(found[1])
    encoding = next(share for below, share in ENCODING if transfers < below)
    return transfers * encoding * lanes / 8
