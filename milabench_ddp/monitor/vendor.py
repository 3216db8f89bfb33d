"""Samples of other vendors' devices, through the back-ends of voir."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..machine.devices import Device
from ..machine.vendors import Backend, VendorError
from .reading import Reading, SourceError
from .sample import Sample


class VoirSource:
    """The devices of one architecture, as voir reads them."""

    def __init__(self, arch: str, devices: Sequence[Device]) -> None:
        """Sample ``devices`` of ``arch``: rocm, hpu or xpu."""
        self._arch = arch
        self._indices = tuple(device.index for device in devices)
        self._backend: Backend | None = None

    def open(self) -> None:
        """See ``Source``."""
        try:
            self._backend = Backend.open(self._arch)
        except VendorError as error:
            raise SourceError(str(error)) from error

    def read(self) -> Reading:
        """See ``Source``."""
        if self._backend is None:
            raise SourceError("not open")
        try:
            entries = self._backend.read()
        except VendorError as error:
            raise SourceError(str(error)) from error
        lost = tuple(f"device {i} gives no samples" for i in self._indices if i not in entries)
        return Reading({i: sample(entries[i]) for i in self._indices if i in entries}, lost)

    def close(self) -> None:
        """See ``Source``."""
        if self._backend is not None:
            self._backend.close()
            self._backend = None


def sample(entry: Mapping[str, Any]) -> Sample:
    """A device's entry of voir's ``get_gpus_info``; voir writes a negative number for "unknown"."""
    memory = entry["memory"]
    return Sample(
        memory=(float(memory["used"]), float(memory["total"])),
        load=_known(entry["utilization"]["compute"]),
        temperature=_known(entry["temperature"]),
        power=_known(entry["power"]),
    )


def _known(value: float) -> float | None:
    return None if value < 0 else float(value)
