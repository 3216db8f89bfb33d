"""What the monitor saw of each device and host of a benchmark, over all of its launches.

Each has a number for each sensor with a summary (see ``samples``): the most while the device was in
use, or the mean over the measured steps, or while it was in use if their time is not known.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ...samples import CAUSES, MOST, DeviceSample, HostSample, Sensor, sensors_of
from ...table import UNKNOWN, Column
from ..clocks import held_down
from ..fields import EVERYWHERE, Field, RecordType
from ..model import Row
from ..monitored import Monitored
from ..statistics.values import largest, mean
from .selection import TableOf

HELD_DOWN = "what held its clocks down, in which share of steps"
DEVICES, TRAFFIC, HOSTS = "devices", "traffic", "hosts"


class Watched(Struct, frozen=True):
    """A device or a host over all launches of a benchmark."""

    node: str
    measured: Sequence[Struct]
    in_use: Sequence[Struct]
    device: str = ""
    launches: Sequence[Monitored] = ()

    @property
    def samples(self) -> int:
        return len(self.in_use)


def _summary(sensor: Sensor, watched: Watched) -> object:
    if sensor.over == CAUSES:
        return held_down(watched.launches)
    if sensor.over == MOST:
        return largest(map(sensor.value, watched.in_use))
    return mean(map(sensor.value, watched.measured))


def _fields(sample: type[Struct]) -> Iterator[Field]:
    """The numbers of the sensors, each with the table in which it is."""
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
    meaning = "how many samples there are"
    return Field("samples", meaning, kind=int, heading="samples", format="d", places=table)


DEVICE = Field("device", "its index on its node", kind=str, heading="device")
NODE = Field("node", "empty if all of the benchmark ran on one node", kind=str, heading="node")
HEAD = DEVICE, NODE
DEVICE_MEANS = RecordType("DeviceMeans", "", [*HEAD, _samples(DEVICES), *_fields(DeviceSample)])
HOST_MEANS = RecordType("HostMeans", "", [NODE, _samples(HOSTS), *_fields(HostSample)])


def watched_devices(row: Row) -> list[Watched]:
    """The devices of a benchmark, in the order of nodes and indices."""
    devices: dict[tuple[str, int, str], list[Monitored]] = defaultdict(list)
    for each in row.monitored:
        index = int(each.device) if each.device.isdecimal() else 0
        devices[each.node, index, each.device].append(each)
    found = []
    for (node, _, device), launches in sorted(devices.items()):
        measured = [sample for each in launches for sample in each.measured]
        in_use = [sample for each in launches for sample in each.in_use]
        found.append(Watched(node, measured, in_use, device, launches))
    return found


def watched_hosts(row: Row) -> list[Watched]:
    """The hosts of a benchmark, in the order of nodes."""
    return [Watched(node, samples, samples) for node, samples in row.hosts.items()]


def columns_of(means: RecordType, table: str) -> tuple[Column, ...]:
    """The numbers that are in a table."""
    return tuple(
        Column(
            field.heading,
            field.format,
            field.of,
            unknown=UNKNOWN if field.format or field in HEAD else "",
        )
        for field in means.fields
        if field.places in (EVERYWHERE, table)
    )


devices = TableOf("Devices", watched_devices, columns_of(DEVICE_MEANS, DEVICES), always=2)
traffic = TableOf(
    "Traffic of devices", watched_devices, columns_of(DEVICE_MEANS, TRAFFIC), always=2
)
