"""The sensors of NVIDIA's GPUs, and the errors that their driver reports."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_void_p, cast
from types import ModuleType
from typing import Any

from ...samples import CounterRates, DeviceProblem, DeviceSample
from ..devices import Device
from ..host import OtherProcesses
from .backend import Reading
from .nvml import NvmlError, ask, open_device, processes, read_memory, why_lost

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


def _clock_reasons(nvml: ModuleType, handle: object) -> tuple[str, ...]:
    """Why no clock is higher, by name; the call had another name before driver 535."""
    try:
        mask = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except (AttributeError, nvml.NVMLError_FunctionNotFound):
        mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return tuple(name for bit, name in CLOCK_REASONS.items() if mask & bit)


def _headroom(nvml: ModuleType, handle: object) -> float:
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


# How a field of a DeviceSample is read, by one call of (pynvml, handle of a device).
_SENSORS: Mapping[str, Callable[[ModuleType, object], object]] = {
    "memory": read_memory,
    "load": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    "temperature": lambda nvml, handle: float(
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    ),
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
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
# A device that lacks one of these is told of. Many lack the others: their fields are absent.
_USUAL = ("memory", "load", "temperature", "power")

# The field values of NVML that make up a field of a DeviceSample, with the factor to its unit. One
# call reads all of them. They stand here by number, because older bindings do not name all.
_FIELD_VALUES: Mapping[str, tuple[float, tuple[int, ...]]] = {
    "memory_temperature": (1, (82,)),  # MEMORY_TEMP
    "ecc": (1, (3, 4)),  # ECC_SBE_VOL_TOTAL, ECC_DBE_VOL_TOTAL
    "remapped": (1, (142, 143, 144, 145)),  # REMAPPED_COR, _UNC, _PENDING, _FAILURE
    # PCIE_COUNT_TX_BYTES, _RX_BYTES. What older drivers have instead takes 20 ms for each reading.
    "pcie": (1e-6, (197, 198)),
    "nvlink": (1.024e-3, (138, 139)),  # NVLINK_THROUGHPUT_DATA_TX, _RX, in KiB
    "recovery": (1, (230,)),  # GET_GPU_RECOVERY_ACTION: not a sensor
}
_COUNTERS = ("pcie", "nvlink")  # a sample has their rates
_ALL_LINKS = 2**32 - 1  # the scope of a field value
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by the type's number


# What the driver says must be done to a device before it is used again (GPU_RECOVERY_ACTION_*), and
# the action that this is.
RECOVERY: Mapping[int, tuple[str, str]] = {
    1: ("is to be reset", "reset"),
    2: ("needs a reboot of its node", "reboot"),
    3: ("is to get no more peer-to-peer work", "isolate"),
    4: ("is to be drained and reset", "reset"),
    5: ("needs a recovery of its IMEX domain", "isolate"),
    6: ("needs a reset of its bus", "reset"),
    7: ("needs a reboot of its system", "reboot"),
}


class DeviceReader:
    """Reads one device through an open handle; asks for a missing sensor only once."""

    def __init__(self, nvml: ModuleType, device: Device) -> None:
        self._nvml = nvml
        self._device = device
        self._handle: object = None
        self._uuid = "" if device.id.isdecimal() else device.id
        self._sensors = {**_SENSORS, "foreign": self._foreign}
        self._others = OtherProcesses()
        self._rates = CounterRates()
        self._missing: dict[str, list[str]] = {}  # usual sensors, by the reason
        self._answered: set[str] = set()  # sensors that are there
        self._silent = ""  # why it does not answer
        self._recovery = 0  # the action that its driver asks for, of ``RECOVERY``

    @property
    def is_instance(self) -> bool:
        return self._device.id.startswith("MIG-")

    def open(self) -> object:
        if self._handle is None:
            handle = open_device(self._nvml, self._device.id)
            self._uuid = self._uuid or ask(self._nvml, self._nvml.nvmlDeviceGetUUID, handle) or ""
            self._handle = handle
        return self._handle

    def read(self) -> DeviceSample | None:
        """The readings up to the first that fails; None without any.

        After a failure the next call opens the device again, because it may be back.
        """
        nvml = self._nvml
        values: dict[str, Any] = {}
        self._silent = ""
        now = time.time()
        try:
            handle = self.open()
            values |= self._field_values(handle, now)
            self._recovery = int(values.pop("recovery", 0))
            for name, sensor in list(self._sensors.items()):
                try:
                    values[name] = sensor(nvml, handle)
                    self._answered.add(name)
                except nvml.NVMLError as error:
                    is_missing = self._is_missing(name, error)
                    if is_missing:
                        del self._sensors[name]
                    if name in _USUAL:
                        if not is_missing:
                            raise
                        self._missing.setdefault(str(error), []).append(name)
        except nvml.NVMLError as error:
            self._handle = None
            self._silent = why_lost(nvml, error)
        known = {name: value for name, value in values.items() if value is not None}
        return DeviceSample(time=now, **known) if known else None

    def _field_values(self, handle: object, now: float) -> dict[str, object]:
        """The field values that the device has; a counter as its rate since the last reading."""
        wanted = []
        for name, (_, ids) in _FIELD_VALUES.items():
            wanted += [(id, _ALL_LINKS if name == "nvlink" else 0) for id in ids]
        answers = iter(ask(self._nvml, self._nvml.nvmlDeviceGetFieldValues, handle, wanted) or ())
        values: dict[str, object] = {}
        for name, (factor, ids) in _FIELD_VALUES.items():
            found = []
            for _, value in zip(ids, answers, strict=False):
                if not value.nvmlReturn:  # else, the device lacks it
                    number = getattr(value.value, _MEMBERS[value.valueType])
                    found.append(round(number * factor, 3))
            if len(found) < len(ids):
                continue
            if name in _COUNTERS:
                values[name] = self._rates.since_last(name, now, found)
            else:
                values[name] = tuple(found) if len(ids) > 1 else found[0]
        return values

    def _foreign(self, nvml: ModuleType, handle: object) -> tuple[str, ...] | None:
        found = (process.pid for process in processes(nvml, handle))
        return self._others.named(found) or None

    def _is_missing(self, name: str, error: NvmlError) -> bool:
        nvml = self._nvml
        missing = [
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            nvml.NVML_ERROR_NO_PERMISSION,
        ]
        if self.is_instance:  # of a sensor that only a whole GPU has
            missing.append(nvml.NVML_ERROR_INVALID_ARGUMENT)
        return name not in self._answered and error.value in missing

    @property
    def problems(self) -> Iterator[DeviceProblem]:
        if self._silent:
            yield self.problem(f"does not answer: {self._silent}", is_lost=True)
        if self._recovery in RECOVERY:
            words, action = RECOVERY[self._recovery]
            yield self.problem(f"{words}, says its driver", action=action)
        for reason, names in self._missing.items():
            yield self.problem(f"tells no {', no '.join(names)}: {reason}", is_fault=False)

    def problem(
        self,
        predicate: str,
        *,
        is_fault: bool = True,
        is_lost: bool = False,
        xid: int | None = None,
        action: str = "",
    ) -> DeviceProblem:
        kind = "MIG device" if self.is_instance else "GPU"
        name = f"{kind} {self._device.index}"
        if self._uuid:
            name += f" ({self._uuid})"
        return DeviceProblem(
            f"{name} {predicate}", self._device.index, self._uuid, is_fault,
            is_lost=is_lost, xid=xid, action=action,
        )  # fmt: skip


@contextmanager
def read_all(nvml: ModuleType, devices: Sequence[Device]) -> Iterator[Callable[[], Reading]]:
    """A function that reads the devices, one after another, and then their errors."""
    readers = [DeviceReader(nvml, device) for device in devices]
    with _errors(nvml, readers) as new_errors:

        def read() -> Reading:
            samples = {}
            problems: list[DeviceProblem] = []
            for device, reader in zip(devices, readers, strict=True):
                sample = reader.read()
                if sample is not None:
                    samples[device.index] = sample
                problems += reader.problems
            return Reading(samples, (*problems, *new_errors()))

        yield read


def _address(handle: Any) -> int:
    """What a handle points to; 0 for none, as in an event that is about no device."""
    return cast(handle, c_void_p).value or 0


@contextmanager
def _errors(
    nvml: ModuleType, readers: Sequence[DeviceReader]
) -> Iterator[Callable[[], list[DeviceProblem]]]:
    """A function that returns the errors (Xids) that the driver has reported since the last call.

    It returns none where the driver does not report any, as in a virtual machine.
    """
    events = ask(nvml, nvml.nvmlEventSetCreate)
    of: dict[int, list[DeviceReader]] = {}  # by the address of the handle of a whole GPU
    if events is not None:
        for reader in readers:
            with suppress(nvml.NVMLError):
                gpu = reader.open()
                if reader.is_instance:
                    gpu = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu)
                known = of.setdefault(_address(gpu), [])
                if not known:
                    nvml.nvmlDeviceRegisterEvents(gpu, nvml.nvmlEventTypeXidCriticalError, events)
                known.append(reader)

    def new_errors() -> list[DeviceProblem]:
        found: list[DeviceProblem] = []
        with suppress(nvml.NVMLError):  # all have been read
            while of:
                event = nvml.nvmlEventSetWait(events, 0)
                xid = event.eventData
                for reader in of.get(_address(event.device), ()):
                    found.append(reader.problem(f"reported Xid {xid}", xid=xid))
        return found

    try:
        yield new_errors
    finally:
        if events is not None:
            ask(nvml, nvml.nvmlEventSetFree, events)
