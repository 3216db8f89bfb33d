"""Samples of NVIDIA GPUs, through NVML."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ..machine.devices import Device
from ..machine.nvml import MIB, NvmlUnavailable, open_device, session
from .reading import Reading, SourceError
from .sample import Sample

_Reader = Callable[[Any, Any], Any]  # (pynvml, handle of a device) -> a value of Sample

# One library call each. `memory` counts as milabench does: with what the driver reserves.
_READERS: dict[str, _Reader] = {
    "memory": lambda nvml, handle: _memory(nvml.nvmlDeviceGetMemoryInfo(handle)),
    "load": lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
    "temperature": lambda nvml, handle: float(
        nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    ),
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
}


class NvmlSource:
    """The handles of ``devices``, kept open; what a device does not support is asked once."""

    def __init__(self, devices: Sequence[Device]) -> None:
        """Sample ``devices``, which are opened by their ids: indices or UUIDs, also of MIG."""
        self._devices = tuple(devices)
        self._library = ExitStack()
        self._nvml: Any = None
        self._handles: dict[int, Any] = {}
        self._readers: dict[int, dict[str, _Reader]] = {}

    def open(self) -> None:
        """See ``Source``."""
        try:
            self._nvml = self._library.enter_context(session())
        except NvmlUnavailable as error:
            raise SourceError(str(error)) from error
        self._readers = {device.index: dict(_READERS) for device in self._devices}

    def read(self) -> Reading:
        """See ``Source``. A device that fails is opened again the next time: it may be back."""
        samples, problems = {}, []
        for device in self._devices:
            values: dict[str, Any] = {}
            try:
                self._fill(values, device)
            except self._nvml.NVMLError as error:
                self._handles.pop(device.index, None)
                problems.append(f"GPU {device.index} does not answer: {error}")
            if values:
                samples[device.index] = Sample(**values)
        return Reading(samples, tuple(problems))

    def close(self) -> None:
        """See ``Source``."""
        self._handles = {}
        self._library.close()

    def _fill(self, values: dict[str, Any], device: Device) -> None:
        """Add what the device tells to ``values``, up to the first call that fails."""
        if device.index not in self._handles:
            self._handles[device.index] = open_device(self._nvml, device.id)
        readers = self._readers[device.index]
        for name, reader in list(readers.items()):
            try:
                values[name] = reader(self._nvml, self._handles[device.index])
            except self._nvml.NVMLError_NotSupported:
                del readers[name]


def _memory(info: Any) -> tuple[float, float]:
    return info.used / MIB, info.total / MIB
