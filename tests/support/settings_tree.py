"""A healthy node of eight GPUs and network cards as files, and each of its settings spoilt."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from milabench_ddp.config.audited import AuditedSetting, audited
from milabench_ddp.machine.setting_reader import read_settings
from milabench_ddp.node_settings import Settings
from tests.support.wait import PATIENCE

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max open files            {files}              1048576              files
Max locked memory         {locked}             unlimited            bytes
"""
GPU = {
    "pcie": {"generation": 5, "gpu_generation": 5, "width": 16, "current_width": 16},
    "nvlink": {"links": 18, "gb_s": 25.0, "switched": True},
    "fabric": "completed",
    "persistence": True,
    "ecc": True,
    "mig": False,
    "power_limit": 700.0,
    "default_power_limit": 700.0,
    "application_clock": 1980,
    "default_application_clock": 1980,
    "vbios": "96.00.CF.00.02",
}
CARD = "sys/bus/pci/devices/0000:c0:00.0/net/eth0"
CPU, MM = "sys/devices/system/cpu", "sys/kernel/mm/transparent_hugepage"
FILES: Mapping[str, str] = {
    "dev/infiniband/uverbs0/x": "",  # a folder stands in for a device
    "etc/tuned/active_profile": "hpc\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 iommu=pt amd_iommu=on quiet\n",
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  610.43\n",
    "proc/meminfo": "MemTotal: 2113000000 kB\nHugePages_Total:       0\n",
    "proc/mounts": "sysfs /sys sysfs rw 0 0\ntmpfs /dev/shm tmpfs rw,size=1056000000k 0 0\n",
    "proc/self/environ": "HOME=/root\0NCCL_IB_DISABLE=0\0NCCL_P2P_DISABLE=0\0NCCL_SHM_DISABLE=0"
    "\0NCCL_NVLS_ENABLE=1\0NCCL_IB_HCA=mlx5\0",
    "proc/self/limits": LIMITS.format(files=65536, locked="unlimited"),
    "proc/sys/kernel/numa_balancing": "0\n",
    "proc/sys/vm/swappiness": "10\n",
    "proc/sys/vm/zone_reclaim_mode": "0\n",
    "run/irqbalance/x": "",
    "sys/class/dmi/id/bios_version": "1.1\n",
    "sys/class/dmi/id/product_name": "DGXH200\n",
    "sys/class/net/eth0/mtu": "9000\n",
    f"{CARD}/speed": "100000\n",
    "sys/class/net/lo/mtu": "65536\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    f"{CPU}/cpu0/cpuidle/state2/disable": "1\n",
    f"{CPU}/cpu0/cpuidle/state3/disable": "1\n",
    f"{CPU}/cpu0/microcode/version": "0x2b000603\n",
    f"{CPU}/cpufreq/boost": "1\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/offline": "\n",
    f"{CPU}/smt/active": "1\n",
    f"{MM}/defrag": "always defer defer+madvise [madvise] never\n",
    f"{MM}/enabled": "always [madvise] never\n",
    "sys/devices/system/node/has_cpu": "0-1\n",
    "sys/devices/system/node/node1/cpulist": "56-111\n",
    "sys/module/amdgpu/version": "6.12\n",
    "sys/module/mlx5_core/version": "24.10\n",
    "sys/module/nvidia_peermem/refcnt": "0\n",
    "sys/module/pcie_aspm/parameters/policy": "[default] performance powersave\n",
    **{f"{CPU}/cpufreq/policy{k}/scaling_governor": "performance\n" for k in range(8)},
    **{f"{CPU}/cpufreq/policy{k}/energy_performance_preference": "0\n" for k in range(8)},
    **{f"sys/devices/system/edac/mc/mc{k}/dimm0/size": "65536\n" for k in range(8)},
}
OF_GPU = {"numa_node": "1\n", "iommu_group/type": "identity\n"}
OF_AMD = {"current_link_width": "16\n", "max_link_width": "16\n"}
OF_NIC = {
    "fw_ver": "28.39.1002\n",
    "device/current_link_width": "16\n",
    "device/max_link_width": "16\n",
    "device/current_link_speed": "32.0 GT/s PCIe\n",
    "device/max_link_speed": "32.0 GT/s PCIe\n",
    "ports/1/state": "4: ACTIVE\n",
    "ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "ports/1/link_layer": "InfiniBand\n",
}
BRIDGE = "sys/bus/pci/drivers/pcieport/0000:15:01.0/config"


def configuration(*, redirects: int) -> bytes:
    """The configuration space of a PCI bridge: ACS after another extended capability."""
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 0x200 << 20 | 1 << 16 | 0x0001)
    struct.pack_into("<I", space, 0x200, 1 << 16 | 0x000D)
    struct.pack_into("<H", space, 0x206, redirects | 0x11)  # source validation, upstream forwarding
    return bytes(space)


class PlantedNode:
    """The files of a node below a folder, and the facts of its GPUs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.gpus: dict[str, dict[str, Any]] = {str(k): to_builtins(GPU) for k in range(8)}
        for path, text in FILES.items():
            self.write(path, text)
        for k in range(8):
            for name, text in OF_GPU.items():
                self.write(f"sys/bus/pci/drivers/nvidia/0000:{k + 1:02x}:00.0/{name}", text)
            for name, text in OF_AMD.items():
                self.write(f"sys/bus/pci/drivers/amdgpu/0000:{k + 1:02x}:00.0/{name}", text)
            for name, text in OF_NIC.items():
                self.write(f"sys/class/infiniband/mlx5_{k}/{name}", text)
        self.write_bridge(redirects=0)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def write_bridge(self, redirects: int) -> None:
        self.write(BRIDGE, "")
        (self.root / BRIDGE).write_bytes(configuration(redirects=redirects))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def settings(self) -> Settings:
        return read_settings(audited(), self.gpus, self.root, PATIENCE)


Spoil = Callable[[PlantedNode], object]


def file(path: str, text: str) -> Spoil:
    return lambda node: node.write(path, text)


def nic(name: str, text: str) -> Spoil:
    return file(f"sys/class/infiniband/mlx5_7/{name}", text)


def gpu(value: object, *names: str) -> Spoil:
    def spoil(node: PlantedNode) -> None:
        facts = node.gpus["7"]
        for name in names[:-1]:
            facts = facts[name]
        facts[names[-1]] = value

    return spoil


def variable(assignment: str) -> Spoil:
    return file("proc/self/environ", f"HOME=/root\0{assignment}\0")


def without(folder: str, name: str) -> Spoil:
    def spoil(node: PlantedNode) -> None:
        node.remove(f"{folder}/{name}")
        (node.root / folder).rmdir()

    return spoil


# Each setting spoilt alone, in the last of its places, and the value that it has there then.
SPOILT: Mapping[str, tuple[Spoil, str]] = {
    "gpu_link_width": (gpu(8, "pcie", "current_width"), "8 of 16"),
    "gpu_link_speed": (gpu(4, "pcie", "generation"), "4 of 5"),
    "amd_link_width": (
        file("sys/bus/pci/drivers/amdgpu/0000:08:00.0/current_link_width", "8\n"),
        "8 of 16",
    ),
    "nic_link_width": (nic("device/current_link_width", "8\n"), "8 of 16"),
    "nic_link_speed": (nic("device/current_link_speed", "16.0 GT/s PCIe\n"), "16.0 of 32.0"),
    "acs": (lambda node: node.write_bridge(redirects=0x0C), "enabled"),
    "iommu": (
        file("sys/bus/pci/drivers/nvidia/0000:08:00.0/iommu_group/type", "DMA-FQ\n"),
        "DMA-FQ",
    ),
    "aspm": (
        file("sys/module/pcie_aspm/parameters/policy", "default performance [powersave]\n"),
        "powersave",
    ),
    "gpu_numa_node": (file("sys/bus/pci/drivers/nvidia/0000:08:00.0/numa_node", "-1\n"), "-1"),
    "nvlinks": (gpu(17, "nvlink", "links"), "17"),
    "fabric": (gpu("in progress", "fabric"), "in progress"),
    "persistence": (gpu(False, "persistence"), "False"),
    "ecc": (gpu(False, "ecc"), "False"),
    "mig": (gpu(True, "mig"), "True"),
    "power_cap": (gpu(500.0, "power_limit"), "500 of 700"),
    "application_clock": (gpu(1200, "application_clock"), "1200 of 1980"),
    "vbios": (gpu("96.00.99", "vbios"), "96.00.99"),
    "amdgpu_driver": (file("sys/module/amdgpu/version", "6.10\n"), "6.10"),
    "gpudirect": (without("sys/module/nvidia_peermem", "refcnt"), "none"),
    "rdma_devices": (without("dev/infiniband/uverbs0", "x"), "none"),
    "rdma_ports": (nic("ports/1/state", "1: DOWN\n"), "DOWN"),
    "nic_rate": (nic("ports/1/rate", "200 Gb/sec (2X NDR)\n"), "200"),
    "link_layer": (nic("ports/1/link_layer", "Ethernet\n"), "Ethernet"),
    "nic_firmware": (nic("fw_ver", "28.38\n"), "28.38"),
    "nic_driver": (file("sys/module/mlx5_core/version", "23.10\n"), "23.10"),
    "mtu": (file("sys/class/net/eth0/mtu", "1500\n"), "1500"),
    "net_speed": (file(f"{CARD}/speed", "10000\n"), "10000"),
    "memlock": (file("proc/self/limits", LIMITS.format(files=65536, locked=65536)), "65536"),
    "ib_disable": (variable("NCCL_IB_DISABLE=1"), "1"),
    "p2p_disable": (variable("NCCL_P2P_DISABLE=1"), "1"),
    "shm_disable": (variable("NCCL_SHM_DISABLE=1"), "1"),
    "nvls_enable": (variable("NCCL_NVLS_ENABLE=0"), "0"),
    "governor": (file(f"{CPU}/cpufreq/policy7/scaling_governor", "powersave\n"), "powersave"),
    "boost": (file(f"{CPU}/cpufreq/boost", "0\n"), "0"),
    "no_turbo": (file(f"{CPU}/intel_pstate/no_turbo", "1\n"), "1"),
    "epp": (file(f"{CPU}/cpufreq/policy7/energy_performance_preference", "power\n"), "power"),
    "c_states": (file(f"{CPU}/cpu0/cpuidle/state3/disable", "0\n"), "0"),
    "smt": (file(f"{CPU}/smt/active", "0\n"), "0"),
    "cpus_offline": (file(f"{CPU}/offline", "111\n"), "111"),
    "microcode": (file(f"{CPU}/cpu0/microcode/version", "0x2b000590\n"), "0x2b000590"),
    "clock_source": (
        file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        "hpet",
    ),
    "irqbalance": (without("run/irqbalance", "x"), "off"),
    "tuned": (file("etc/tuned/active_profile", "powersave\n"), "powersave"),
    "numa_nodes": (file("sys/devices/system/node/has_cpu", "0-7\n"), "0-7"),
    "numa_balancing": (file("proc/sys/kernel/numa_balancing", "1\n"), "1"),
    "zone_reclaim": (file("proc/sys/vm/zone_reclaim_mode", "1\n"), "1"),
    "thp": (file(f"{MM}/enabled", "always madvise [never]\n"), "never"),
    "thp_defrag": (file(f"{MM}/defrag", "[always] defer defer+madvise madvise never\n"), "always"),
    "huge_pages": (file("proc/meminfo", "HugePages_Total:    1024\n"), "1024"),
    "dimms": (lambda node: node.remove("sys/devices/system/edac/mc/mc7/dimm0/size"), "65536"),
    "swap": (file("proc/sys/vm/swappiness", "100\n"), "100"),
    "shm": (file("proc/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n"), "65536"),
    "nofile": (file("proc/self/limits", LIMITS.format(files=999, locked="unlimited")), "999"),
    "kernel_options": (file("proc/cmdline", "root=UUID=2 amd_iommu=on\n"), "amd_iommu=on"),
    "bios": (file("sys/class/dmi/id/bios_version", "1.0\n"), "1.0"),
    "product": (file("sys/class/dmi/id/product_name", "DGXH100\n"), "DGXH100"),
}  # fmt: skip


def is_judged_alone(setting: AuditedSetting) -> bool:
    """Whether one node tells whether its value is good."""
    return bool(setting.gpu or setting.of or setting.good)
