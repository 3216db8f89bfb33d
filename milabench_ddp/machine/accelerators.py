"""What is worth knowing of the GPUs that are used: driver, limits, clocks, links."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .devices import Device
from .nvml import MIB, NvmlUnavailable, ask, open_device, session
from .vendors import Backend, VendorError


def accelerators(arch: str, devices: Sequence[Device]) -> dict[str, Any]:
    """``arch``, versions of the driver, and ``gpus``: facts of each device by its index, JSON-able.

    What a driver cannot tell is left out; without a working one, what was detected remains.
    """
    if arch == "cpu":
        return {"arch": arch, "gpus": {}}
    gpus = {str(device.index): _detected(device) for device in devices}
    driver: Mapping[str, Any] = {}
    if arch == "cuda":
        try:
            with session() as nvml:
                driver = _driver(nvml)
                for device in devices:
                    gpus[str(device.index)] |= _nvidia(nvml, device)
        except NvmlUnavailable:
            pass
    else:
        for index, entry in _vendor(arch).items():
            if str(index) in gpus:
                gpus[str(index)]["memory"] = dict(entry["memory"])
    return {"arch": arch, **driver, "gpus": gpus}


def _detected(device: Device) -> dict[str, Any]:
    return {
        "device": device.index,
        "id": device.id,
        "product": device.name,
        "memory": {"used": 0.0, "total": device.memory_mib},
    }


def _driver(nvml: Any) -> dict[str, Any]:
    cuda = ask(nvml, nvml.nvmlSystemGetCudaDriverVersion)
    return _known(
        {
            "driver": ask(nvml, nvml.nvmlSystemGetDriverVersion),
            "cuda_driver": cuda and f"{cuda // 1000}.{cuda % 1000 // 10}",
            "nvml": ask(nvml, nvml.nvmlSystemGetNVMLVersion),
        }
    )


def _nvidia(nvml: Any, device: Device) -> dict[str, Any]:
    handle = ask(nvml, open_device, nvml, device.id)
    if handle is None:
        return {}

    def of(call: Callable[..., Any], *args: Any) -> Any:
        return ask(nvml, call, handle, *args)

    power = of(nvml.nvmlDeviceGetEnforcedPowerLimit)
    memory = of(nvml.nvmlDeviceGetMemoryInfo)
    ecc = of(nvml.nvmlDeviceGetEccMode)
    bus = of(nvml.nvmlDeviceGetPciInfo)
    capability = of(nvml.nvmlDeviceGetCudaComputeCapability)
    return _known(
        {
            "uuid": of(nvml.nvmlDeviceGetUUID),
            "memory": memory and {"used": memory.used / MIB, "total": memory.total / MIB},
            "capability": capability and ".".join(map(str, capability)),
            "vbios": of(nvml.nvmlDeviceGetVbiosVersion),
            "power_limit": power and power / 1000,  # W
            "clocks_max": _known(  # MHz
                {
                    "sm": of(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
                    "memory": of(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_MEM),
                }
            ),
            # The greatest that GPU and slot can do: an idle GPU lowers its link.
            "pcie": _known(
                {
                    "bus_id": bus and _text(bus.busId),
                    "generation": of(nvml.nvmlDeviceGetMaxPcieLinkGeneration),
                    "width": of(nvml.nvmlDeviceGetMaxPcieLinkWidth),
                }
            ),
            "ecc": ecc and bool(ecc[0]),
        }
    )


def _vendor(arch: str) -> Mapping[int, Mapping[str, Any]]:
    try:
        backend = Backend.open(arch)
        try:
            return backend.read()
        finally:
            backend.close()
    except VendorError:
        return {}


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
