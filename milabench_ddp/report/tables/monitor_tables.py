"""How fast each device of a benchmark was, and what the monitor saw of it and of each host.

A device has a rate if a process is alone on it: then its distance from the median of all devices
tells whether it is slow. Each has a number for each sensor with a summary (see ``samples``): the
most while the device was in use, or the mean over the measured steps, or while it was in use if
their time is not known.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ...grouping import grouped
from ...samples import CAUSES, MOST, DeviceSample, HostSample, Sensor, sensors_of
from ...table import UNKNOWN, Column, Measured
from ..clocks import held_down
from ..fields import EVERYWHERE, Field, RecordType
from ..model import Row
from ..monitored import Monitored
from ..process import series_of_devices
from ..ranks.rank_summary import RankId, device_id
from ..statistics.interval import Series, interval, pooled_mean, why_no_mean
from ..statistics.values import NAN, largest, mean, median
from .selection import TableOf

LEAST_DIGITS = 0.001  # of a rate without an interval
HELD_DOWN = "what held its clocks down, in which share of steps"
DEVICES, TRAFFIC, HOSTS = "devices", "traffic", "hosts"


class Watched(Struct, frozen=True):
    """A device or a host over all launches of a benchmark."""

    node: str
    measured: Sequence[Struct]
    in_use: Sequence[Struct]
    id: RankId | None = None  # of a device
    launches: Sequence[Monitored] = ()
    series: Sequence[Series] = ()  # of the processes that are alone on it, one for each launch
    unit: str = ""
    median: float = NAN  # of the rates of all devices, if there are several

    @property
    def device(self) -> str:
        return self.id.name.removeprefix("device ") if self.id else ""

    @property
    def samples(self) -> int | None:
        return len(self.in_use) or None

    @property
    def rate(self) -> float:
        launches = [[each] for each in self.series]
        return NAN if why_no_mean(launches) else pooled_mean(launches)

    @property
    def from_median(self) -> float:
        return self.rate / self.median - 1

    @property
    def shown_rate(self) -> Measured:
        sure = interval([[each] for each in self.series])
        error = (sure.high - sure.low) / 2 if sure else self.rate * LEAST_DIGITS
        return Measured(self.rate, error, with_error=sure is not None)


def _summary(sensor: Sensor, watched: Watched) -> object:
    if sensor.over == CAUSES:
        return held_down(watched.launches)
    if sensor.over == MOST:
        return largest(map(sensor.value, watched.in_use))
    return mean(map(sensor.value, watched.measured))


def _fields(sample: type[Struct]) -> Iterator[Field]:
    for sensor in sensors_of(sample):
        is_text = sensor.over == CAUSES
        if sensor.summary:
            yield Field(
                sensor.summary,
                HELD_DOWN if is_text else f"{sensor.over}: {sensor.meaning}",
                partial(_summary, sensor),
                sensor.unit,
                str if is_text else float,
                sensor.heading,
                "" if is_text else sensor.format,
                places=sensor.table,
            )


def _samples(table: str) -> Field:
    meaning = "how many samples there are; null without any"
    return Field("samples", meaning, kind=int | None, heading="samples", format="d", places=table)


DEVICE = Field("device", "its index on its node", kind=str, heading="device")
NODE = Field("node", "empty if all of the benchmark ran on one node", kind=str, heading="node")
HEAD = DEVICE, NODE
SPEED = (
    Field("rate", "its mean rate, if a process is alone on it; else null", unit="units/s",
          heading="rate", format=".5g", places=DEVICES),
    Field("unit", "of its rate", kind=str, heading="unit", places=DEVICES),
    Field("from_median", "how far it is from the median rate of all devices, of that",
          heading="from median", format="+.1%", places=DEVICES),
)  # fmt: skip
DEVICE_MEANS = RecordType(
    "DeviceMeans", "", [*HEAD, *SPEED, _samples(DEVICES), *_fields(DeviceSample)]
)
HOST_MEANS = RecordType("HostMeans", "", [NODE, _samples(HOSTS), *_fields(HostSample)])


def watched_devices(row: Row) -> list[Watched]:
    seen = grouped((device_id(each.node, each.device), each) for each in row.monitored)
    alone = series_of_devices(row.counted)
    found = []
    for id in sorted({*seen, *alone}):
        launches = seen.get(id, [])
        measured = [sample for each in launches for sample in each.measured]
        in_use = [sample for each in launches for sample in each.in_use]
        series = alone.get(id, [])
        unit = row.unit if series else ""
        found.append(Watched(id.node, measured, in_use, id, launches, series, unit))
    middle = median(each.rate for each in found) if len(alone) > 1 else NAN
    return [replace(each, median=middle) for each in found]


def watched_hosts(row: Row) -> list[Watched]:
    return [Watched(node, samples, samples) for node, samples in row.hosts.items()]


def columns_of(means: RecordType, table: str) -> tuple[Column, ...]:
    return tuple(
        Column(
            field.heading,
            field.format,
            "shown_rate" if field.name == "rate" else field.of,
            unknown=UNKNOWN if field.format or field in HEAD else "",
        )
        for field in means.fields
        if field.places in (EVERYWHERE, table)
    )


devices = TableOf("Devices", watched_devices, columns_of(DEVICE_MEANS, DEVICES), always=2)
traffic = TableOf(
    "Traffic of devices",
    lambda row: [each for each in watched_devices(row) if each.samples],
    columns_of(DEVICE_MEANS, TRAFFIC),
    always=2,
)
hosts = TableOf("Hosts", watched_hosts, columns_of(HOST_MEANS, HOSTS), always=1)
