"""What a device did at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """The readings of one device; None where it has no such sensor."""

    memory: tuple[float, float] | None = None  # used and total, MiB
    load: float | None = None  # 0..1: the share of time in which any kernel ran
    temperature: float | None = None  # degrees Celsius
    power: float | None = None  # W

    def payload(self) -> dict[str, Any]:
        """The device's entry of milabench's ``gpudata``, without what it cannot tell."""
        readings = {
            "memory": None if self.memory is None else list(self.memory),
            "load": self.load,
            "temperature": self.temperature,
            "power": self.power,
        }
        return {name: value for name, value in readings.items() if value is not None}


def gpudata(time: float, samples: Mapping[int, Sample]) -> dict[str, Any]:
    """The payload of the ``data`` event for ``samples`` by device index, at ``time`` (epoch s)."""
    devices = {str(index): sample.payload() for index, sample in samples.items()}
    return {"task": "main", "time": time, "gpudata": devices}
