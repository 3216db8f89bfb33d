"""What the monitor saw on each device while a benchmark used it: memory, load, heat, power."""

from collections import defaultdict

from ...results.records import Record
from ...samples import DeviceSample
from ...table import Column, Table, without_unknown
from .. import compat
from ..model import Row, Rows
from ..statistics.values import largest, mean

Device = tuple[str, str]  # node, index


def devices(rows: Rows) -> Table:
    """A row for each device of each benchmark: the most memory and heat, the mean load and power.

    Samples of a device that was idle do not count, as for ``peak_memory``.
    """
    columns = (
        Column("bench"),
        Column("device"),
        Column("node"),
        Column("samples", "d"),
        Column("peak_memory", ".0f"),
        Column("load", ".1%"),
        Column("max C", ".0f"),
        Column("power W", ".0f"),
    )
    values = []
    for row in rows:
        for (node, device), samples in sorted(_samples(row).items(), key=_in_order):
            shown = (
                row.name,
                device,
                node,
                len(samples),
                largest(sample.used for sample in samples),
                mean(sample.load for sample in samples),
                largest(sample.temperature for sample in samples),
                mean(sample.power for sample in samples),
            )
            values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Devices"), always=2)


def _samples(row: Row) -> dict[Device, list[DeviceSample]]:
    """The samples of each device of a benchmark, over all its launches."""
    found: dict[Device, list[DeviceSample]] = defaultdict(list)
    for process in row.processes:
        node = _node(process.record)
        for device, sample in compat.samples_in_use(process.record):
            found[node, device].append(sample)
    return found


def _node(record: Record) -> str:
    """The node of a process; empty if all of its benchmark ran on one node."""
    places = [word for word in record.words if word not in ("nolog", record.repeat)]
    return places[1] if len(places) > 1 else ""


def _in_order(item: tuple[Device, object]) -> tuple[str, int, str]:
    (node, device), _ = item
    return node, int(device) if device.isdecimal() else 0, device
