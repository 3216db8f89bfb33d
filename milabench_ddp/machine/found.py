"""What the search for the devices of one architecture came to."""

from dataclasses import dataclass

from .devices import Device


@dataclass(frozen=True)
class Found:
    """Devices, and what a user should know of the search; without devices, why there are none."""

    devices: tuple[Device, ...]
    notes: tuple[str, ...] = ()
