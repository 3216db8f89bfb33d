"""What the monitor saw on each device while a benchmark used it: memory, load, heat, power."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ...table import Column, Table, without_unknown
from ..clocks import held_down, sm_clock
from ..model import Row, Rows
from ..monitored import Monitored
from ..statistics.values import largest, mean


def devices(rows: Rows) -> Table:
    """A row for each device of each benchmark.

    The most memory and heat are those while it was in use, as for ``peak_memory``. The rest are
    means over the measured steps, or while it was in use if their time is not known.
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
        Column("bench"),
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
    values_of: Callable[[Sequence[Monitored]], tuple[Any, ...]],
) -> Table:
    values = []
    for row in rows:
        for launches in _by_device(row):
            place = launches[0].device, launches[0].node
            values.append((row.name, *place, *values_of(launches)))
    return without_unknown(Table(tuple(columns), tuple(values), title), always=2)


def _by_device(row: Row) -> list[list[Monitored]]:
    """Each device of a benchmark, in all its launches."""
    found: dict[tuple[str, int, str], list[Monitored]] = defaultdict(list)
    for each in row.monitored:
        index = int(each.device) if each.device.isdecimal() else 0
        found[each.node, index, each.device].append(each)
    return [found[key] for key in sorted(found)]


def _state(launches: Sequence[Monitored]) -> tuple[Any, ...]:
    in_use = [sample for each in launches for sample in each.in_use]
    measured = [sample for each in launches for sample in each.measured]
    return (
        len(in_use),
        largest(sample.used for sample in in_use),
        mean(sample.load for sample in measured),
        largest(sample.temperature for sample in in_use),
        mean(sample.power for sample in measured),
        mean(sample.power_limit for sample in measured),
        sm_clock(launches),
        mean(sample.memory_clock for sample in measured),
        held_down(launches),
        largest(sample.memory_temperature for sample in in_use),
    )


def _traffic(launches: Sequence[Monitored]) -> tuple[Any, ...]:
    measured = [sample for each in launches for sample in each.measured]
    pcie = _throughput([sample.pcie for sample in measured])
    return (*pcie, *_throughput([sample.nvlink for sample in measured]))


def _throughput(rates: Sequence[tuple[float, float] | None]) -> tuple[float, float]:
    """The mean rates out of a device and into it."""
    known = [rate for rate in rates if rate is not None]
    return mean(out for out, _ in known), mean(into for _, into in known)
