"""What the monitor saw of each device and host while a benchmark used it, by the sensors."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ...samples import CAUSES, DeviceSample, HostSample
from ...table import UNKNOWN, Column, Table, without_unknown
from ..model import Rows
from ..monitor_means import device_means, host_means, summarized

DEVICE, NODE = Column("device"), Column("node")
SAMPLES = Column("samples", "d")


def devices(rows: Rows) -> Table:
    """A row for each device of each benchmark: memory, load, heat, power, clocks."""
    seen = ((row.name, each) for row in rows for each in device_means(row))
    return _table("devices", "Devices", (DEVICE, NODE, SAMPLES), DeviceSample, seen, always=2)


def traffic(rows: Rows) -> Table:
    """A row for each device of each benchmark: the mean rates of its links."""
    seen = ((row.name, each) for row in rows for each in device_means(row))
    return _table("traffic", "Traffic of devices", (DEVICE, NODE), DeviceSample, seen, always=2)


def hosts(rows: Rows) -> Table:
    """A row for each host of each benchmark: cores, memory, disks, network."""
    seen = ((row.name, each) for row in rows for each in host_means(row))
    return _table("hosts", "Hosts", (NODE, SAMPLES), HostSample, seen, always=1)


def _table(
    name: str,
    title: str,
    head: Sequence[Column],
    sample: type[Struct],
    seen: Iterator[tuple[str, Struct]],
    always: int,
) -> Table:
    """A table of the summaries of the sensors that name it; the first columns always stay."""
    sensors = [sensor for sensor in summarized(sample) if sensor.table == name]
    fields = [*(column.name for column in head), *(sensor.summary for sensor in sensors)]
    columns = [Column("benchmark"), *head]
    for sensor in sensors:
        is_text = sensor.over == CAUSES
        format, unknown = ("", "") if is_text else (sensor.format, UNKNOWN)
        columns.append(Column(sensor.heading, format, unknown=unknown))
    values = []
    for benchmark, means in seen:
        values.append((benchmark, *(getattr(means, field) for field in fields)))
    return without_unknown(Table(tuple(columns), tuple(values), title), always)
