"""What the monitor saw of each device and host of a benchmark, over all of its launches."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from ..codec import about
from ..samples import HostSample
from .clocks import held_down, sm_clock
from .model import Row
from .monitored import Monitored
from .statistics.values import largest, mean


class DeviceMeans(Struct, frozen=True):
    """A device while a benchmark used it.

    The most memory and heat are those while it was in use. The rest are means over the measured
    steps, or while it was in use if their time is not known.
    """

    device: Annotated[str, about("its index on its node")]
    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    samples: Annotated[int, about("how many samples were taken while it was in use")]
    peak_memory: Annotated[float, about("the most memory in use", "MiB")]
    load: Annotated[float, about("the share of time in which any kernel ran, 0 to 1")]
    max_temperature: Annotated[float, about("the highest temperature", "degrees Celsius")]
    power: Annotated[float, about("the power of its board", "W")]
    power_limit: Annotated[float, about("the power cap in force", "W")]
    sm_clock: Annotated[float, about("the clock of its multiprocessors", "MHz")]
    memory_clock: Annotated[float, about("the clock of its memory", "MHz")]
    held_down_by: Annotated[str, about("what held its clocks down, in which share of the steps")]
    max_memory_temperature: Annotated[
        float, about("the highest temperature of its memory", "degrees Celsius")
    ]
    pcie_out: Annotated[float, about("out of the device over PCIe", "MB/s")]
    pcie_in: Annotated[float, about("into the device over PCIe", "MB/s")]
    nvlink_out: Annotated[float, about("out of the device over all its NVLinks", "MB/s")]
    nvlink_in: Annotated[float, about("into the device over all its NVLinks", "MB/s")]


class HostMeans(Struct, frozen=True):
    """A host while a benchmark ran: means over the measured steps, and the most memory."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    samples: Annotated[int, about("how many samples there are")]
    cpu: Annotated[float, about("how busy the cores were that the run may use, 0 to 1")]
    cpu_clock: Annotated[float, about("the mean clock of the cores", "MHz")]
    peak_memory: Annotated[float, about("the most memory in use", "MiB")]
    memory: Annotated[float, about("all memory of the host", "MiB")]
    swapped: Annotated[float, about("to swap and back", "MB/s")]
    read: Annotated[float, about("from disks", "MB/s")]
    written: Annotated[float, about("to disks", "MB/s")]
    received: Annotated[float, about("from the network, without InfiniBand's", "MB/s")]
    sent: Annotated[float, about("to the network, without InfiniBand's", "MB/s")]


def device_means(row: Row) -> list[DeviceMeans]:
    """Each device of a benchmark, in the order of nodes and indices."""
    launches: dict[tuple[str, int, str], list[Monitored]] = defaultdict(list)
    for each in row.monitored:
        index = int(each.device) if each.device.isdecimal() else 0
        launches[each.node, index, each.device].append(each)
    return [_device(launches[key]) for key in sorted(launches)]


def _device(launches: list[Monitored]) -> DeviceMeans:
    in_use = [sample for each in launches for sample in each.in_use]
    measured = [sample for each in launches for sample in each.measured]
    pcie = _both_ways(sample.pcie for sample in measured)
    nvlink = _both_ways(sample.nvlink for sample in measured)
    return DeviceMeans(
        device=launches[0].device,
        node=launches[0].node,
        samples=len(in_use),
        peak_memory=largest(sample.used for sample in in_use),
        load=mean(sample.load for sample in measured),
        max_temperature=largest(sample.temperature for sample in in_use),
        power=mean(sample.power for sample in measured),
        power_limit=mean(sample.power_limit for sample in measured),
        sm_clock=sm_clock(launches),
        memory_clock=mean(sample.memory_clock for sample in measured),
        held_down_by=held_down(launches),
        max_memory_temperature=largest(sample.memory_temperature for sample in in_use),
        pcie_out=pcie[0],
        pcie_in=pcie[1],
        nvlink_out=nvlink[0],
        nvlink_in=nvlink[1],
    )


def host_means(row: Row) -> list[HostMeans]:
    """Each host of a benchmark, in the order of nodes."""
    nodes: dict[str, list[HostSample]] = defaultdict(list)
    for host in row.hosts:
        nodes[host.node] += host.measured
    return [_host(node, samples) for node, samples in sorted(nodes.items())]


def _host(node: str, samples: list[HostSample]) -> HostMeans:
    memory = [each.memory for each in samples if each.memory is not None]
    disk = _both_ways(each.disk for each in samples)
    network = _both_ways(each.network for each in samples)
    return HostMeans(
        node=node,
        samples=len(samples),
        cpu=mean(each.cpu for each in samples),
        cpu_clock=mean(each.cpu_clock for each in samples),
        peak_memory=largest(used for used, _ in memory),
        memory=largest(total for _, total in memory),
        swapped=mean(each.swapped for each in samples),
        read=disk[0],
        written=disk[1],
        received=network[0],
        sent=network[1],
    )


def _both_ways(rates: Iterable[tuple[float, float] | None]) -> tuple[float, float]:
    """The mean rates in both directions, over the samples that tell them."""
    known = [rate for rate in rates if rate is not None]
    return mean(first for first, _ in known), mean(second for _, second in known)
