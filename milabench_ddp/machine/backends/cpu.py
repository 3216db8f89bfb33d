"""CPU slots: shares of the cores that stand in for GPUs, to measure a CPU or without GPUs."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..devices import Device
from ..host import cpu_name, share_cpus, usable_cpus
from .backend import Backend, DiscoveryResult

DEFAULT_SLOTS = 2  # the smallest number that needs communication


class CpuBackend(Backend):
    """Slots that share out the cores of this host; they have no sensors."""

    name = "cpu"
    collectives = "gloo"
    torch_device = "cpu"
    visibility_variable = "CUDA_VISIBLE_DEVICES"

    def discover(self, environ: Mapping[str, str], count: int | None) -> DiscoveryResult:
        del environ
        brand = cpu_name()
        shares = share_cpus(usable_cpus(), DEFAULT_SLOTS if count is None else count)
        slots = (Device(i, str(i), brand, cpus=cpus) for i, cpus in enumerate(shares))
        return DiscoveryResult(tuple(slots))

    def visibility_value(self, devices: Sequence[Device]) -> str:
        del devices
        return ""

    def accelerators(self, devices: Sequence[Device]) -> dict[str, Any]:
        del devices
        return super().accelerators([])
