"""The sensors of devices and hosts, each declared once, and the samples that are read from them.

To add a sensor, add a field to a sample, and read it in the device back-ends that have it
(``machine/backends``). The name of a field is its key in milabench's ``gpudata``. Tables, charts,
exports and their schemas follow from what the field says of its numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

# What a file may hold: a sample with NaN, or with what no sensor tells, is damaged.
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
Amount = Annotated[float, Meta(ge=0, le=1e100)]
Size = Annotated[float, Meta(gt=0, le=1e100)]
Count = Annotated[int, Meta(ge=0)]
Moment = Annotated[float, Meta(ge=0, le=253402300799)]  # seconds since the epoch, to year 9999
Lanes = Annotated[int, Meta(ge=0, le=64)]  # or the generation of a link

MEAN, MOST = "mean", "most"  # how all samples become one number
CAUSES = "causes"  # or the causes that held clocks down, each with its share
CELSIUS = "degrees Celsius"


class Sensor(Struct, frozen=True):
    """A number or a text of a sample.

    A field of two numbers has two sensors, and may have one more ``of`` both.
    """

    name: str  # its column in the export
    meaning: str
    unit: str = ""
    summary: str = ""  # the name of the number that stands for all samples; empty: there is none
    heading: str = ""  # of the column of the summary
    format: str = ".0f"  # of the summary
    over: str = MEAN  # of the measured steps, or ``MOST`` of all samples while it was in use
    table: str = "devices"  # in which the summary is
    chart: str = ""  # the title of its chart over time; empty: there is none
    shown: tuple[str, float] | None = None  # the unit of the chart, and the factor to it
    kind: type = float
    of: Callable[[Any], object] | None = None
    is_exported: bool = True
    field: str = ""  # filled in by ``sensors_of``
    place: int | None = None  # in a field of several numbers

    def value(self, sample: Struct) -> Any:
        found = getattr(sample, self.field)
        if found is None:
            return None
        if self.of is not None:
            return self.of(found)
        return found if self.place is None else found[self.place]

    @property
    def charted(self) -> tuple[str, float]:
        return self.shown or (self.unit, 1.0)


Both = tuple[Amount, Amount] | None


class DeviceSample(Struct, frozen=True, gc=False):
    """The readings of one device at one moment; None where it has no such sensor.

    A struct, because a report reads hundreds of thousands of them.
    """

    # fmt: off
    memory: Annotated[tuple[float, float] | None,
        Sensor("memory", "memory in use", "MiB", "peak_memory", "peak_memory", over=MOST,
               chart="Memory", shown=("GiB", 1 / 1024)),
        Sensor("memory_total", "all its memory", "MiB")] = None
    load: Annotated[float | None,
        Sensor("load", "the share of time in which any kernel ran, 0 to 1", "", "load", "load",
               ".1%", chart="Load", shown=("%", 100.0))] = None
    temperature: Annotated[float | None,
        Sensor("temperature", "of the device", CELSIUS, "max_temperature", "max C", over=MOST,
               chart="Temperature", shown=("°C", 1.0))] = None
    power: Annotated[float | None,  # of most of NVIDIA's, the mean over the last second
        Sensor("power", "of its board", "W", "power", "power W", chart="Power")] = None
    time: Moment | None = None  # when it was read, in seconds since the epoch
    power_limit: Annotated[Amount | None,
        Sensor("power_limit", "the power cap in force", "W", "power_limit", "cap W")] = None
    energy: Annotated[Amount | None,
        Sensor("energy", "counted since the driver was loaded", "J")] = None
    sm_clock: Annotated[Amount | None,
        Sensor("sm_clock", "the clock of its multiprocessors", "MHz", "sm_clock", "SM MHz",
               chart="SM clock")] = None
    memory_clock: Annotated[Amount | None,
        Sensor("memory_clock", "the clock of its memory", "MHz", "memory_clock", "memory MHz",
               chart="Memory clock")] = None
    clock_reasons: Annotated[tuple[str, ...] | None,
        Sensor("clock_reasons", "why no clock is higher, as NVML names them", "", "held_down_by",
               "held down by", over=CAUSES, kind=str, of=" ".join)] = None
    memory_temperature: Annotated[Number | None,
        Sensor("memory_temperature", "of its memory", CELSIUS, "max_memory_temperature",
               "max memory C", over=MOST)] = None
    headroom: Annotated[Number | None,
        Sensor("headroom", "until heat slows it down", CELSIUS)] = None
    pcie: Annotated[Both,  # as the next, since the reading before
        Sensor("pcie_out", "out of the device over PCIe", "MB/s", "pcie_out", "PCIe out MB/s",
               table="traffic"),
        Sensor("pcie_in", "into the device over PCIe", "MB/s", "pcie_in", "PCIe in MB/s",
               table="traffic")] = None
    nvlink: Annotated[Both,
        Sensor("nvlink_out", "out of the device over all its NVLinks", "MB/s", "nvlink_out",
               "NVLink out MB/s", table="traffic"),
        Sensor("nvlink_in", "into the device over all its NVLinks", "MB/s", "nvlink_in",
               "NVLink in MB/s", table="traffic")] = None
    pcie_link: tuple[Lanes, Lanes] | None = None  # generation and width; less while it is idle
    ecc: Annotated[tuple[Count, Count] | None,
        Sensor("corrected_errors", "of memory since the driver was loaded", kind=int),
        Sensor("uncorrected_errors", "of memory since the driver was loaded", kind=int)] = None
    # rows of the memory that were replaced: after corrected errors, after others; whether one waits
    # for a reset, and whether one could not be replaced
    remapped: tuple[Count, Count, Count, Count] | None = None
    foreign: Annotated[tuple[str, ...] | None,
        Sensor("foreign", "processes on it that are not of this run", kind=str, of=" ".join)] = None
    # A sensor of devices is added here: tests/machine/test_sensor_extension.py shows how
    # fmt: on

    @property
    def used(self) -> float | None:
        return None if self.memory is None else self.memory[0]


class HostSample(Struct, frozen=True, gc=False):
    """What a host did at one moment; rates are since the reading before, None at the first."""

    # fmt: off
    time: Moment | None = None  # seconds since the epoch
    cpu: Annotated[Amount | None,
        Sensor("cpu", "how busy the cores were that the run may use, 0 to 1", "", "cpu", "cores",
               ".1%", table="hosts")] = None
    cpu_clock: Annotated[Amount | None,
        Sensor("cpu_clock", "the mean clock of the cores", "MHz", "cpu_clock", "MHz",
               table="hosts")] = None
    memory: Annotated[tuple[Amount, Size] | None,
        Sensor("memory", "memory in use", "MiB", "peak_memory", "memory", over=MOST,
               table="hosts"),
        Sensor("memory_total", "all its memory", "MiB", "memory", "of", over=MOST,
               table="hosts")] = None
    swap: Annotated[Both,
        Sensor("swap_in", "from swap", "MB/s"),
        Sensor("swap_out", "to swap", "MB/s"),
        Sensor("swapped", "to swap and back", "MB/s", "swapped", "swapped MB/s", ".3g",
               table="hosts", of=sum, is_exported=False)] = None
    disk: Annotated[Both,
        Sensor("read", "from disks", "MB/s", "read", "read MB/s", ".3g", table="hosts"),
        Sensor("written", "to disks", "MB/s", "written", "written MB/s", ".3g",
               table="hosts")] = None
    network: Annotated[Both,
        Sensor("received", "from the network, without InfiniBand's", "MB/s", "received",
               "received MB/s", ".3g", table="hosts"),
        Sensor("sent", "to the network, without InfiniBand's", "MB/s", "sent", "sent MB/s", ".3g",
               table="hosts")] = None
    # fmt: on

    @property
    def full(self) -> float | None:
        return None if self.memory is None else self.memory[0] / self.memory[1]

    @property
    def swapped(self) -> float | None:
        return None if self.swap is None else sum(self.swap)


@cache
def sensors_of(sample: type[Struct]) -> tuple[Sensor, ...]:
    found = []
    for field, hint in get_type_hints(sample, include_extras=True).items():
        sensors = [each for each in get_args(hint) if isinstance(each, Sensor)]
        for place, sensor in enumerate(sensors):
            found.append(replace(sensor, field=field, place=place if len(sensors) > 1 else None))
    return tuple(found)


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
    xid: int | None = None  # the number of the error that NVIDIA's driver reported
    action: str = ""  # what to do: isolate, reboot, reset or watch


class CounterRates:
    """How fast counters rise between two readings."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Sequence[float]]] = {}  # time and counters, by name

    def since_last(
        self, name: str, now: float, counters: Sequence[float]
    ) -> tuple[float, ...] | None:
        """A tuple of a rise per second for each counter of a name; None at first, and where one
        began anew.
        """
        before, last = self._last.get(name, (now, counters))
        self._last[name] = now, counters
        rises = [new - old for new, old in zip(counters, last, strict=True)]
        if now <= before or min(rises) < 0:
            return None
        return tuple(round(rise / (now - before), 3) for rise in rises)


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
