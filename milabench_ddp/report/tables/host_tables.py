"""What the monitor saw of each host while a benchmark ran: cores, memory, disks, network."""

from ...table import Column, Table, without_unknown
from ..model import Rows
from ..monitor_means import host_means


def hosts(rows: Rows) -> Table:
    """A row for each host of each benchmark; ``HostMeans`` says over what the numbers are."""
    columns = (
        Column("benchmark"),
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
        for seen in host_means(row):
            shown = (
                row.name,
                seen.node,
                seen.samples,
                seen.cpu,
                seen.cpu_clock,
                seen.peak_memory,
                seen.memory,
                seen.swapped,
                seen.read,
                seen.written,
                seen.received,
                seen.sent,
            )
            values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Hosts"), always=1)
