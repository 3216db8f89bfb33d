"""What the monitor saw of each device and host while a benchmark used it, by the sensors."""

from collections.abc import Iterator

from msgspec import Struct

from ...samples import CAUSES, DeviceSample, HostSample
from ...table import UNKNOWN, Column
from ..monitor_means import device_means, host_means, summarized
from .selection import Selection

DEVICE, NODE = Column("device", "", "device"), Column("node", "", "node")
SAMPLES = Column("samples", "d", "samples")


def _sensors(sample: type[Struct], table: str) -> Iterator[Column]:
    """The columns of the sensors that name the table."""
    for sensor in summarized(sample):
        if sensor.table == table:
            is_text = sensor.over == CAUSES
            format, unknown = ("", "") if is_text else (sensor.format, UNKNOWN)
            yield Column(sensor.heading, format, sensor.summary, unknown=unknown)


devices = Selection(
    "Devices",
    device_means,
    (DEVICE, NODE, SAMPLES, *_sensors(DeviceSample, "devices")),
    always=2,
)
traffic = Selection(
    "Traffic of devices",
    device_means,
    (DEVICE, NODE, *_sensors(DeviceSample, "traffic")),
    always=2,
)
hosts = Selection("Hosts", host_means, (NODE, SAMPLES, *_sensors(HostSample, "hosts")), always=1)
