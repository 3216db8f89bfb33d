"""What the monitor saw on each device while a benchmark used it: memory, load, heat, power."""

from collections.abc import Callable, Sequence

from ...table import Column, Table, without_unknown
from ..model import Rows
from ..monitor_means import DeviceMeans, device_means


def devices(rows: Rows) -> Table:
    """A row for each device of each benchmark; ``DeviceMeans`` says over what the numbers are."""
    columns = (
        Column("benchmark"),
        Column("device"),
        Column("node"),
        Column("samples", "d"),
        Column("peak_memory", ".0f"),
        Column("load", ".1%"),
        Column("max C", ".0f"),
        Column("power W", ".0f"),
        Column("cap W", ".0f"),
        Column("SM MHz", ".0f"),
        Column("memory MHz", ".0f"),
        Column("held down by", unknown=""),
        Column("max memory C", ".0f"),
    )
    return _table("Devices", columns, rows, _state)


def traffic(rows: Rows) -> Table:
    """A row for each device of each benchmark: the mean rates of its links, as in ``devices``."""
    columns = (
        Column("benchmark"),
        Column("device"),
        Column("node"),
        Column("PCIe out MB/s", ".0f"),
        Column("PCIe in MB/s", ".0f"),
        Column("NVLink out MB/s", ".0f"),
        Column("NVLink in MB/s", ".0f"),
    )
    return _table("Traffic of devices", columns, rows, _traffic)


def _table(
    title: str,
    columns: Sequence[Column],
    rows: Rows,
    values_of: Callable[[DeviceMeans], tuple[object, ...]],
) -> Table:
    values = []
    for row in rows:
        for seen in device_means(row):
            values.append((row.name, seen.device, seen.node, *values_of(seen)))
    return without_unknown(Table(tuple(columns), tuple(values), title), always=2)


def _state(seen: DeviceMeans) -> tuple[object, ...]:
    return (
        seen.samples,
        seen.peak_memory,
        seen.load,
        seen.max_temperature,
        seen.power,
        seen.power_limit,
        seen.sm_clock,
        seen.memory_clock,
        seen.held_down_by,
        seen.max_memory_temperature,
    )


def _traffic(seen: DeviceMeans) -> tuple[object, ...]:
    return seen.pcie_out, seen.pcie_in, seen.nvlink_out, seen.nvlink_in
