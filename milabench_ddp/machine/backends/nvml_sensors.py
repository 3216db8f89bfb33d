"""The sensors of NVIDIA's GPUs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...samples import DeviceProblem, DeviceSample
from ..devices import Device
from ..processes import OtherProcesses
from .nvml import ask, open_device, read_memory, why_lost

# How a field of a DeviceSample is read, by one call of (pynvml, handle of a device). A device that
# lacks one of these is told of.
_SENSORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "memory": read_memory,
    "load": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    "temperature": lambda nvml, handle: float(
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    ),
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
}


def _clock_reasons(nvml: Any, handle: Any) -> tuple[str, ...]:
    """Why no clock is higher, by name; the call had another name before driver 535."""
    try:
        mask = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except (AttributeError, nvml.NVMLError_FunctionNotFound):
        mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return tuple(name for bit, name in CLOCK_REASONS.items() if mask & bit)


def _headroom(nvml: Any, handle: Any) -> float:
    """The degrees until heat slows it down; older drivers tell the temperature of that instead."""
    try:
        return float(nvml.nvmlDeviceGetMarginTemperature(handle))
    except (AttributeError, nvml.NVMLError):
        limit = nvml.nvmlDeviceGetTemperatureThreshold(
            handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        )
        if not limit:  # a device that has none may tell 0
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED) from None
        return float(limit - nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))


# NVML's, as `nvidia-smi --query-gpu` names them
CLOCK_REASONS: Mapping[int, str] = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}

# The same for sensors that many devices lack: their fields are absent, and nothing is told.
_FURTHER: Mapping[str, Callable[[Any, Any], Any]] = {
    "energy": lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
    "sm_clock": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
    "memory_clock": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
    "clock_reasons": _clock_reasons,
    "power_limit": lambda nvml, handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
    "headroom": _headroom,
    "pcie_link": lambda nvml, handle: (
        nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
        nvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
    ),
}

# The field values of NVML that make up a field of a DeviceSample, with the factor to its unit. One
# call reads all of them. They stand here by number, because older bindings do not name all.
_FIELD_VALUES: Mapping[str, tuple[float, tuple[int, ...]]] = {
    "memory_temperature": (1, (82,)),  # MEMORY_TEMP
    "ecc": (1, (3, 4)),  # ECC_SBE_VOL_TOTAL, ECC_DBE_VOL_TOTAL
    "remapped": (1, (142, 143, 144, 145)),  # REMAPPED_COR, _UNC, _PENDING, _FAILURE
    # PCIE_COUNT_TX_BYTES, _RX_BYTES. What older drivers have instead takes 20 ms for each reading.
    "pcie": (1e-6, (197, 198)),
    "nvlink": (1.024e-3, (138, 139)),  # NVLINK_THROUGHPUT_DATA_TX, _RX, in KiB
}
_COUNTERS = ("pcie", "nvlink")  # a sample has their rates
_ALL_LINKS = 2**32 - 1  # the scope of a field value
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by the type's number


class DeviceReader:
    """Reads one device through an open handle; asks for a missing sensor only once."""

    def __init__(self, nvml: Any, device: Device) -> None:
        self._nvml = nvml
        self._device = device
        self._handle: Any = None
        self._uuid = "" if device.id.isdecimal() else device.id
        self._sensors = dict(_SENSORS)
        self._further = {**_FURTHER, "foreign": self._foreign}
        self._others = OtherProcesses()
        self._counted: dict[str, tuple[float, Sequence[float]]] = {}  # counters, when last read
        self._missing: dict[str, list[str]] = {}  # sensors, by the reason
        self._answered: set[str] = set()  # sensors that are there
        self._silent = ""  # why it does not answer
        # the errors for what it lacks
        self._absent = (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND)

    @property
    def is_instance(self) -> bool:
        return self._device.id.startswith("MIG-")

    def open(self) -> Any:
        """The handle of the device, opened if it is not open; raises NVMLError."""
        if self._handle is None:
            handle = open_device(self._nvml, self._device.id)
            self._uuid = self._uuid or ask(self._nvml, self._nvml.nvmlDeviceGetUUID, handle) or ""
            self._handle = handle
        return self._handle

    def read(self) -> DeviceSample | None:
        """The readings up to the first that fails; None without any.

        After a failure the next call opens the device again, because it may be back.
        """
        values: dict[str, Any] = {}
        self._silent = ""
        now = time.time()
        try:
            handle = self.open()
            values |= self._field_values(handle, now)
            for name, sensor in list(self._sensors.items()):
                try:
                    values[name] = sensor(self._nvml, handle)
                    self._answered.add(name)
                except self._nvml.NVMLError as error:
                    self._missing.setdefault(self._why_missing(name, error), []).append(name)
                    del self._sensors[name]
            values |= self._further_values(handle)
        except self._nvml.NVMLError as error:
            self._handle = None
            self._silent = why_lost(self._nvml, error)
        return DeviceSample(time=now, **values) if values else None

    def _field_values(self, handle: Any, now: float) -> dict[str, Any]:
        """The field values that the device has; a counter as its rate since the last reading."""
        wanted = []
        for name, (_, ids) in _FIELD_VALUES.items():
            wanted += [(id, _ALL_LINKS if name == "nvlink" else 0) for id in ids]
        told = ask(self._nvml, self._nvml.nvmlDeviceGetFieldValues, handle, wanted)
        numbers = iter([_number(value) for value in told or ()])
        values: dict[str, Any] = {}
        for name, (factor, ids) in _FIELD_VALUES.items():
            own = [number for _, number in zip(ids, numbers, strict=False) if number is not None]
            if len(own) < len(ids):
                continue
            found = tuple(round(number * factor, 3) for number in own)
            if name in _COUNTERS:
                found = self._rates(name, found, now)
            if found:
                values[name] = found if len(ids) > 1 else found[0]
        return values

    def _rates(self, name: str, counters: tuple[float, ...], now: float) -> tuple[float, ...]:
        """How fast counters rise; empty without an earlier reading, and where one began anew."""
        before, last = self._counted.get(name, (now, ()))
        self._counted[name] = now, counters
        rises = [new - old for new, old in zip(counters, last, strict=False)]
        if not rises or min(rises) < 0 or now <= before:
            return ()
        return tuple(round(rise / (now - before), 3) for rise in rises)

    def _further_values(self, handle: Any) -> dict[str, Any]:
        """What the device has of the further sensors; one that fails is absent for now."""
        values: dict[str, Any] = {}
        for name, sensor in list(self._further.items()):
            try:
                values[name] = sensor(self._nvml, handle)
            except self._nvml.NVMLError as error:
                if error.value in self._absent:
                    del self._further[name]
        return {name: value for name, value in values.items() if value is not None}

    def _foreign(self, nvml: Any, handle: Any) -> tuple[str, ...] | None:
        found = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return self._others.named(process.pid for process in found) or None

    def _why_missing(self, name: str, error: Any) -> str:
        """Why the device lacks this sensor; raises ``error`` if it has it."""
        if name in self._answered:
            raise error
        nvml = self._nvml
        is_absent = error.value in self._absent
        if self.is_instance and (is_absent or error.value == nvml.NVML_ERROR_INVALID_ARGUMENT):
            return "only a whole GPU has such a sensor"
        if error.value == nvml.NVML_ERROR_NO_PERMISSION:
            return "this user may not read it"
        if not is_absent:
            raise error
        if name == "memory":
            return "not supported, as where CPU and GPU share their memory"
        return "not supported by this GPU or its driver"

    @property
    def problems(self) -> Iterator[DeviceProblem]:
        """What is wrong with the device since the last reading, and the sensors that it lacks."""
        if self._silent:
            yield self.problem(f"does not answer: {self._silent}", is_lost=True)
        for reason, names in self._missing.items():
            yield self.problem(f"tells no {', no '.join(names)}: {reason}", is_fault=False)

    def problem(
        self, predicate: str, *, is_fault: bool = True, is_lost: bool = False
    ) -> DeviceProblem:
        kind = "MIG device" if self.is_instance else "GPU"
        name = f"{kind} {self._device.index}"
        if self._uuid:
            name += f" ({self._uuid})"
        return DeviceProblem(
            f"{name} {predicate}", self._device.index, self._uuid, is_fault, is_lost=is_lost
        )


def _number(value: Any) -> float | None:
    """The number of a field value; None if the device lacks it."""
    if value.nvmlReturn:
        return None
    number: float = getattr(value.value, _MEMBERS[value.valueType])
    return number
