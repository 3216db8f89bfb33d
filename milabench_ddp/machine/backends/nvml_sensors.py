"""The sensors of NVIDIA's GPUs, and the errors that the driver reports about them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_void_p, cast
from typing import Any

from ...samples import DeviceProblem, DeviceSample
from ..devices import Device
from .backend import Reading
from .nvml import ask, open_device, read_memory, why_lost

# How each field of a DeviceSample is read, by one call of (pynvml, handle of a device).
_SENSORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "memory": read_memory,
    "load": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    "temperature": lambda nvml, handle: float(
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    ),
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
}

# The common ones of NVIDIA's "XID Errors". Programs cause some of them, and the GPU is healthy;
# NVIDIA's device plugin for Kubernetes ignores the same ones.
_XIDS = {
    48: "a memory error that ECC could not correct",
    63: "a row of its memory was replaced",
    64: "a row of its memory could not be replaced",
    74: "an error of NVLink",
    79: "it has fallen off the bus; restart the machine",
    92: "many memory errors that ECC corrected",
    94: "a memory error that ended a program",
    95: "a memory error that may have reached other programs; reset it",
    119: "its system processor (GSP) does not answer",
    120: "an error of its system processor (GSP)",
}
_XIDS_OF_PROGRAMS = (13, 31, 43, 45, 68, 109)


@contextmanager
def read_all(nvml: Any, devices: Sequence[Device]) -> Iterator[Callable[[], Reading]]:
    """A function that reads the devices, one after another, and then their errors."""
    readers = [_DeviceReader(nvml, device) for device in devices]
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


class _DeviceReader:
    """Reads one device through an open handle; asks for a missing sensor only once."""

    def __init__(self, nvml: Any, device: Device) -> None:
        self._nvml = nvml
        self._device = device
        self._handle: Any = None
        self._uuid = "" if device.id.isdecimal() else device.id
        self._sensors = dict(_SENSORS)
        self._missing: dict[str, list[str]] = {}  # sensors, by the reason
        self._answered: set[str] = set()  # sensors that are there
        self._silent = ""  # why it does not answer

    @property
    def is_instance(self) -> bool:
        """Whether it is a MIG device."""
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
        try:
            handle = self.open()
            for name, sensor in list(self._sensors.items()):
                try:
                    values[name] = sensor(self._nvml, handle)
                    self._answered.add(name)
                except self._nvml.NVMLError as error:
                    self._missing.setdefault(self._why_missing(name, error), []).append(name)
                    del self._sensors[name]
        except self._nvml.NVMLError as error:
            self._handle = None
            self._silent = why_lost(self._nvml, error)
        return DeviceSample(**values) if values else None

    def _why_missing(self, name: str, error: Any) -> str:
        """Why the device lacks this sensor; raises ``error`` if it has it."""
        if name in self._answered:
            raise error
        nvml = self._nvml
        is_absent = error.value in (
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        )
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
            yield self.problem(f"does not answer: {self._silent}")
        for reason, names in self._missing.items():
            yield self.problem(f"tells no {', no '.join(names)}: {reason}", is_fault=False)

    def problem(self, predicate: str, *, is_fault: bool = True) -> DeviceProblem:
        """The sentence about this device."""
        kind = "MIG device" if self.is_instance else "GPU"
        name = f"{kind} {self._device.index}"
        if self._uuid:
            name += f" ({self._uuid})"
        return DeviceProblem(f"{name} {predicate}", self._device.index, self._uuid, is_fault)


def _address(handle: Any) -> int:
    """What a handle points to; 0 for none, as in an event that is about no device."""
    return cast(handle, c_void_p).value or 0


@contextmanager
def _errors(
    nvml: Any, readers: Sequence[_DeviceReader]
) -> Iterator[Callable[[], list[DeviceProblem]]]:
    """A function that returns the errors (Xids) that the driver has reported since the last call.

    It returns none where the driver does not report any, as in a virtual machine.
    """
    events = ask(nvml, nvml.nvmlEventSetCreate)
    of: dict[int, list[_DeviceReader]] = {}  # by the address of the handle of a whole GPU
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
                is_fault = xid not in _XIDS_OF_PROGRAMS
                about = _XIDS.get(xid, "see NVIDIA's list of Xids")
                predicate = f"reported Xid {xid}: {about if is_fault else 'a fault of a program'}"
                for reader in of.get(_address(event.device), ()):
                    found.append(reader.problem(predicate, is_fault=is_fault))
        return found

    try:
        yield new_errors
    finally:
        if events is not None:
            ask(nvml, nvml.nvmlEventSetFree, events)
