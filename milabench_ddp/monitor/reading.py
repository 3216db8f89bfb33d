"""What a source of samples promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from .sample import Sample


class SourceError(Exception):
    """No device can be read; ``str()`` says why."""


@dataclass(frozen=True)
class Reading:
    """Samples of the devices that answered, and what was wrong with the others."""

    samples: Mapping[int, Sample]  # by the device's index
    problems: tuple[str, ...] = ()


class Source(Protocol):
    """Devices that can be read; used by one thread, which opens, reads and closes it."""

    def open(self) -> None:
        """Connect to the library.

        Raises:
            SourceError: it cannot be had.
        """

    def read(self) -> Reading:
        """Read all devices once.

        Raises:
            SourceError: none can be read.
        """

    def close(self) -> None:
        """Disconnect; never raises."""
