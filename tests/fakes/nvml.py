"""Stands in for the module pynvml: GPUs as data, with pynvml's own errors and constants.

Pass it to ``monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([...]))``.
"""

# ruff: noqa: N802 - the names are those of pynvml

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml

MIB = 2**20


@dataclass(eq=False)
class FakeGpu:
    """A GPU, or a MIG device of one. It is its own handle."""

    name: str = "NVIDIA H200"
    uuid: str = ""
    total: int | None = 143771  # MiB; None: not supported, as where CPU and GPU share memory
    used: int = 600
    load: int | None = 37  # percent
    temperature: int | None = 41
    power: int | None = 121500  # mW
    mig: "list[FakeGpu] | None" = None  # None: not in MIG mode
    # whether each NVLink is up; None: without NVLinks
    nvlinks: "tuple[bool, ...] | None" = None
    nvlink_mbps: int = 26562  # on the wire, of each
    switched: bool = True
    fabric: tuple[int, int] | None = None  # state and status; None: not supported
    pcie: tuple[int, int] | None = None  # the generation of the GPU itself, and the width now
    error: int | None = None  # every call about it fails so
    calls: list[str] = field(default_factory=list)


def gpus(count: int, name: str = "NVIDIA H200") -> list[FakeGpu]:
    return [FakeGpu(name, f"GPU-{i:x}aaaaaaa-0000-0000-0000-{i:012x}") for i in range(count)]


class FakeNvml:
    """The functions of pynvml that we call; each needs nvmlInit before, as the library's do."""

    def __init__(self, gpus: list[FakeGpu] = (), init_error: int | None = None) -> None:
        self.gpus = list(gpus)
        self.init_error = init_error
        self.sessions = 0  # initialised and not shut down

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("NVML_", "NVMLError", "c_nvml")):
            return getattr(pynvml, name)
        if name.startswith("nvmlDevice"):
            return self._not_found
        raise AttributeError(name)

    def _not_found(self, *args: object) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)

    def nvmlInit(self) -> None:
        if self.init_error is not None:
            raise pynvml.NVMLError(self.init_error)
        self.sessions += 1

    def nvmlShutdown(self) -> None:
        self._system()
        self.sessions -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return self._system("610.43")

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return self._system(13020)

    def nvmlSystemGetNVMLVersion(self) -> str:
        return self._system("13.610.43")

    def nvmlEventSetCreate(self) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetCpuAffinity(self, gpu: FakeGpu, words: int) -> list[int]:
        self._of(gpu, "CpuAffinity")
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetCount(self) -> int:
        return self._system(len(self.gpus))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        self._system()
        return self._of(self.gpus[index], "HandleByIndex")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        self._system()
        for gpu in self.gpus:
            for device in (gpu, *(gpu.mig or ())):
                if device.uuid == uuid:
                    return self._of(device, "HandleByUUID")
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> list[int]:
        self._of(gpu, "MigMode")
        return [int(gpu.mig is not None)] * 2

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: FakeGpu) -> int:
        self._of(gpu, "MaxMigDeviceCount")
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, index: int) -> FakeGpu:
        self._of(gpu, "MigDeviceHandleByIndex")
        if index >= len(gpu.mig or ()):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return gpu.mig[index]

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        return self._of(gpu, "UUID").uuid

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return self._of(gpu, "Name").name

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        total = self._supported(gpu, "MemoryInfo", gpu.total)
        return SimpleNamespace(total=total * MIB, used=gpu.used * MIB)

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> SimpleNamespace:
        return SimpleNamespace(gpu=self._supported(gpu, "UtilizationRates", gpu.load), memory=0)

    def nvmlDeviceGetTemperature(self, gpu: FakeGpu, sensor: int) -> int:
        return self._supported(gpu, "Temperature", gpu.temperature)

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "PowerUsage", gpu.power)

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "EnforcedPowerLimit", gpu.power and 700000)

    def nvmlDeviceGetPowerManagementDefaultLimit(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "PowerManagementDefaultLimit", gpu.power and 700000)

    def nvmlDeviceGetMaxClockInfo(self, gpu: FakeGpu, kind: int) -> int:
        self._of(gpu, "MaxClockInfo")
        return {pynvml.NVML_CLOCK_SM: 1980, pynvml.NVML_CLOCK_MEM: 3201}[kind]

    def nvmlDeviceGetVbiosVersion(self, gpu: FakeGpu) -> str:
        self._of(gpu, "VbiosVersion")
        return "96.00.CF.00.02"

    def nvmlDeviceGetSerial(self, gpu: FakeGpu) -> str:
        self._of(gpu, "Serial")
        return "1650123456789"

    def nvmlDeviceGetEccMode(self, gpu: FakeGpu) -> list[int]:
        self._of(gpu, "EccMode")
        return [1, 1]

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        self._of(gpu, "PciInfo")
        return SimpleNamespace(busId="00000000:18:00.0")

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        self._of(gpu, "MaxPcieLinkGeneration")
        return 5

    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: FakeGpu) -> int:
        self._of(gpu, "MaxPcieLinkWidth")
        return 16

    def nvmlDeviceGetGpuMaxPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "GpuMaxPcieLinkGeneration", gpu.pcie and gpu.pcie[0])

    def nvmlDeviceGetCurrPcieLinkWidth(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "CurrPcieLinkWidth", gpu.pcie and gpu.pcie[1])

    def nvmlDeviceGetPersistenceMode(self, gpu: FakeGpu) -> int:
        return self._supported(gpu, "PersistenceMode", gpu.pcie and 1)

    def nvmlDeviceGetApplicationsClock(self, gpu: FakeGpu, kind: int) -> int:
        return self._supported(gpu, "ApplicationsClock", gpu.pcie and 1755)

    def nvmlDeviceGetDefaultApplicationsClock(self, gpu: FakeGpu, kind: int) -> int:
        return self._supported(gpu, "DefaultApplicationsClock", gpu.pcie and 1980)

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, link: int) -> int:
        self._supported(gpu, "NvLinkState", (gpu.nvlinks and int(link < len(gpu.nvlinks))) or None)
        return int(gpu.nvlinks[link])

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, link: int) -> int:
        self._of(gpu, "NvLinkRemoteDeviceType")
        kinds = pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH, pynvml.NVML_NVLINK_DEVICE_TYPE_GPU
        return kinds[not gpu.switched]

    def nvmlDeviceGetFieldValues(self, gpu: FakeGpu, ids: list[int]) -> list[SimpleNamespace]:
        if gpu.nvlinks is None:
            self._not_found()
        self._of(gpu, "FieldValues")
        found = []
        for id in ids:
            is_told = id == pynvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
            value = SimpleNamespace(uiVal=gpu.nvlink_mbps)
            code = pynvml.NVML_SUCCESS if is_told else pynvml.NVML_ERROR_NOT_SUPPORTED
            found.append(SimpleNamespace(nvmlReturn=code, value=value))
        return found

    def nvmlDeviceGetGpuFabricInfo(self, gpu: FakeGpu, reference: Any) -> int:
        self._supported(gpu, "GpuFabricInfo", gpu.fabric and 1)
        reference._obj.state, reference._obj.status = gpu.fabric
        return pynvml.NVML_SUCCESS

    def nvmlDeviceGetCudaComputeCapability(self, gpu: FakeGpu) -> tuple[int, int]:
        self._of(gpu, "CudaComputeCapability")
        return (9, 0)

    def _system(self, value: Any = None) -> Any:
        if not self.sessions:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)
        return value

    def _of(self, gpu: FakeGpu, call: str) -> FakeGpu:
        self._system()
        gpu.calls.append(call)
        if gpu.error is not None:
            raise pynvml.NVMLError(gpu.error)
        return gpu

    def _supported(self, gpu: FakeGpu, call: str, value: int | None) -> int:
        self._of(gpu, call)
        if value is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return value
