"""The readings of a device and of a host, from the sensor to the result file and the report.

To add a sensor, add a field here, and read it in the device back-ends that have it
(``machine/backends``). The name of a field is its key in milabench's ``gpudata``.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

# What a file may hold: a sample with NaN, or with what no sensor tells, is damaged.
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
Amount = Annotated[float, Meta(ge=0, le=1e100)]
Size = Annotated[float, Meta(gt=0, le=1e100)]
Count = Annotated[int, Meta(ge=0)]
Moment = Annotated[float, Meta(ge=0, le=253402300799)]  # seconds since the epoch, to year 9999
Lanes = Annotated[int, Meta(ge=0, le=64)]  # or the generation of a link


class DeviceSample(msgspec.Struct, frozen=True, gc=False):
    """The readings of one device at one moment; None where it has no such sensor.

    A struct, because a report reads hundreds of thousands of them.
    """

    memory: tuple[float, float] | None = None  # used and total, MiB
    load: float | None = None  # 0..1: the share of time in which any kernel ran
    temperature: float | None = None  # degrees Celsius
    power: float | None = None  # W; of most of NVIDIA's, the mean over the last second
    time: Moment | None = None  # when it was read, in seconds since the epoch
    power_limit: Amount | None = None  # W: the power cap that is in force
    energy: Amount | None = None  # J, counted since the driver was loaded
    sm_clock: Amount | None = None  # MHz
    memory_clock: Amount | None = None  # MHz
    clock_reasons: tuple[str, ...] | None = None  # why no clock is higher, as NVML names them
    memory_temperature: Number | None = None  # degrees Celsius
    headroom: Number | None = None  # degrees Celsius, until heat slows it down
    pcie: tuple[Amount, Amount] | None = None  # MB/s, sent and received since the reading before
    nvlink: tuple[Amount, Amount] | None = None  # the same, of all its links
    pcie_link: tuple[Lanes, Lanes] | None = None  # generation and width; less while it is idle
    ecc: tuple[Count, Count] | None = None  # errors since the driver was loaded: corrected, and not
    # rows of the memory that were replaced: after corrected errors, after others; whether one waits
    # for a reset, and whether one could not be replaced
    remapped: tuple[Count, Count, Count, Count] | None = None
    foreign: tuple[str, ...] | None = None  # processes on it that are not of this run, if any

    @property
    def used(self) -> float | None:
        """The memory in use, in MiB; None where it is not known."""
        return None if self.memory is None else self.memory[0]


class HostSample(msgspec.Struct, frozen=True, gc=False):
    """What a host did at one moment; rates are since the reading before, None at the first."""

    time: Moment | None = None  # seconds since the epoch
    cpu: Amount | None = None  # 0..1: how busy the cores were that the run may use
    cpu_clock: Amount | None = None  # MHz, the mean over cores
    memory: tuple[Amount, Size] | None = None  # used and total, MiB
    swap: tuple[Amount, Amount] | None = None  # MB/s, read from disk and written to it
    disk: tuple[Amount, Amount] | None = None  # MB/s, read and written
    network: tuple[Amount, Amount] | None = None  # MB/s, received and sent; without InfiniBand's

    @property
    def full(self) -> float | None:
        """The share of the memory in use; None where it is not known."""
        return None if self.memory is None else self.memory[0] / self.memory[1]

    @property
    def swapped(self) -> float | None:
        """What went to swap and came back, in MB/s; None where it is not known."""
        return None if self.swap is None else sum(self.swap)


class DeviceProblem(Struct, frozen=True):
    """What is wrong with a device, or missing in its samples, while a benchmark uses it.

    The fields are the keys of the event ``device_problem``.
    """

    sentence: str
    device: int | None = None  # its index; None: all devices of the node
    uuid: str = ""
    is_fault: bool = True  # False: it does not have all sensors, or a program made a mistake
    time: Moment = 0.0  # since when it is known, in seconds since the epoch
    is_lost: bool = False  # it does not answer


def gpudata(time: float, samples: Mapping[int, DeviceSample]) -> dict[str, object]:
    """The payload of a ``data`` event: the samples by device index, taken at ``time`` (epoch s)."""
    devices = {str(index): _known(sample) for index, sample in samples.items()}
    return {"task": "main", "time": time, "gpudata": devices}


def hostdata(time: float, sample: HostSample) -> dict[str, object]:
    """The payload of a ``data`` event: what the host did, at ``time`` (epoch s)."""
    return {"task": "main", "time": time, "hostdata": _known(sample)}


def _known(sample: DeviceSample | HostSample) -> dict[str, object]:
    readings = msgspec.structs.asdict(sample)
    return {key: value for key, value in readings.items() if value is not None}
