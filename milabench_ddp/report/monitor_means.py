"""What the monitor saw of each device and host of a benchmark, over all of its launches.

Each has a number for each sensor with a summary (see ``samples``): the most while the device was in
use, or the mean over the measured steps, or while it was in use if their time is not known.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Struct, defstruct

from ..codec import about
from ..samples import CAUSES, MOST, DeviceSample, HostSample, Sensor, sensors_of
from .clocks import held_down
from .model import Row
from .monitored import Monitored
from .statistics.values import largest, mean

NODE = Annotated[str, about("empty if all of the benchmark ran on one node")]
SAMPLES = Annotated[int, about("how many samples there are")]


def summarized(sample: type[Struct]) -> list[Sensor]:
    """The sensors of a kind of sample that have a summary."""
    return [sensor for sensor in sensors_of(sample) if sensor.summary]


def _means_type(name: str, head: Sequence[tuple[str, Any]], sample: type[Struct]) -> type[Struct]:
    fields = [*head, ("samples", SAMPLES)]
    for sensor in summarized(sample):
        if sensor.over == CAUSES:
            kind: Any = Annotated[str, about("what held its clocks down, in which share of steps")]
        else:
            kind = Annotated[float, about(f"{sensor.over}: {sensor.meaning}", sensor.unit)]
        fields.append((sensor.summary, kind))
    return defstruct(name, fields, frozen=True)


DEVICE = Annotated[str, about("its index on its node")]
DeviceMeans = _means_type("DeviceMeans", [("device", DEVICE), ("node", NODE)], DeviceSample)
HostMeans = _means_type("HostMeans", [("node", NODE)], HostSample)


def device_means(row: Row) -> list[Struct]:
    """A ``DeviceMeans`` for each device of a benchmark, in the order of nodes and indices."""
    devices: dict[tuple[str, int, str], list[Monitored]] = defaultdict(list)
    for each in row.monitored:
        index = int(each.device) if each.device.isdecimal() else 0
        devices[each.node, index, each.device].append(each)
    found = []
    for node, _, device in sorted(devices):
        launches = devices[node, _, device]
        in_use = [sample for each in launches for sample in each.in_use]
        measured = [sample for each in launches for sample in each.measured]
        numbers = _summaries(DeviceSample, measured, in_use)
        head = {"device": device, "node": node, "samples": len(in_use)}
        found.append(DeviceMeans(**head, held_down_by=held_down(launches), **numbers))
    return found


def host_means(row: Row) -> list[Struct]:
    """A ``HostMeans`` for each host of a benchmark, in the order of nodes."""
    nodes: dict[str, list[HostSample]] = defaultdict(list)
    for host in row.hosts:
        nodes[host.node] += host.measured
    found = []
    for node, samples in sorted(nodes.items()):
        numbers = _summaries(HostSample, samples, samples)
        found.append(HostMeans(node=node, samples=len(samples), **numbers))
    return found


def _summaries(
    sample: type[Struct], measured: Iterable[Struct], in_use: Iterable[Struct]
) -> dict[str, float]:
    found = {}
    for sensor in summarized(sample):
        if sensor.over == MOST:
            found[sensor.summary] = largest(map(sensor.value, in_use))
        elif sensor.over != CAUSES:
            found[sensor.summary] = mean(map(sensor.value, measured))
    return found
