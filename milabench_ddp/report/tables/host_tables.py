"""What the monitor saw of each host while a benchmark ran: cores, memory, disks, network."""

from collections import defaultdict
from collections.abc import Iterable

from ...samples import HostSample
from ...table import Column, Table, without_unknown
from ..model import Rows
from ..statistics.values import largest, mean


def hosts(rows: Rows) -> Table:
    """A row for each host of each benchmark: means over the measured steps, and the most memory."""
    columns = (
        Column("bench"),
        Column("node"),
        Column("samples", "d"),
        Column("cores", ".1%"),
        Column("MHz", ".0f"),
        Column("memory", ".0f"),
        Column("of", ".0f"),
        Column("swapped MB/s", ".3g"),
        Column("read MB/s", ".3g"),
        Column("written MB/s", ".3g"),
        Column("received MB/s", ".3g"),
        Column("sent MB/s", ".3g"),
    )
    values = []
    for row in rows:
        nodes: dict[str, list[HostSample]] = defaultdict(list)
        for host in row.hosts:
            nodes[host.node] += host.measured
        for node, samples in sorted(nodes.items()):
            memory = [each.memory for each in samples if each.memory is not None]
            shown = (
                row.name,
                node,
                len(samples),
                mean(each.cpu for each in samples),
                mean(each.cpu_clock for each in samples),
                largest(used for used, _ in memory),
                largest(total for _, total in memory),
                mean(each.swapped for each in samples),
                *_means(each.disk for each in samples),
                *_means(each.network for each in samples),
            )
            values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Hosts"), always=1)


def _means(rates: Iterable[tuple[float, float] | None]) -> tuple[float, float]:
    known = [rate for rate in rates if rate is not None]
    return mean(first for first, _ in known), mean(second for _, second in known)
