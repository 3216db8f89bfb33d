"""The source of samples of NVIDIA's GPUs: their sensors, and the errors that the driver reports."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_void_p, cast
from typing import Any

from ...samples import DeviceProblem
from ..devices import Device
from .backend import Reading
from .nvml import ask
from .nvml_sensors import DeviceReader

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
    nvml: Any, readers: Sequence[DeviceReader]
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
