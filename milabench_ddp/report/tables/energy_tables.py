"""The energy of a unit of work."""

from typing import Any

from ...table import Column, Measured, Table, without_unknown
from ..energy import UNKNOWN, Energy, energy_of_devices, energy_of_row, too_short, unit_of_work
from ..model import Row, Rows
from ..statistics.mean_power import SHORTEST
from ..statistics.values import ratio

TITLE = "Energy"
OF_WHAT = "(of the GPU boards, not of the node; what their sensors are off by is not in ±)"
_KNOWN = (
    Column("W", ".4g"),
    Column("J", ".4g"),
    Column("for a", unknown=""),
    Column("J by power", ".4g", unknown=""),
)


def energy(rows: Rows) -> Table:
    """A row for each benchmark whose devices' energy is known, or that was measured too shortly."""
    columns = (Column("benchmark"), Column("GPUs", "d"), *_KNOWN)
    values = []
    for row in rows:
        found = energy_of_row(row)
        if found is not None or (too_short(row) and _has_sensors(row)):
            devices = {device.label for device in row.measuring}
            values.append((row.name, len(devices), *_values(row, found or UNKNOWN)))
    short = [row.name for row in rows if too_short(row) and _has_sensors(row)]
    notes = [OF_WHAT]
    if short:
        notes.append(f"(measured for less than {SHORTEST:g} s: {', '.join(short)})")
    if any(row[-1] > 0 for row in values):
        notes.append("(J is by the energy counter; samples of the power differ from it)")
    return _table(columns, values, tuple(notes))


def energy_by_device(rows: Rows) -> Table:
    """A row for each device; for spreadsheets."""
    columns = (Column("benchmark"), Column("device"), *_KNOWN)
    values = []
    for row in rows:
        for label, found in energy_of_devices(row).items():
            if found is not None:
                values.append((row.name, label, *_values(row, found)))
    return _table(columns, values, (OF_WHAT,))


def _table(
    columns: tuple[Column, ...], values: list[tuple[Any, ...]], notes: tuple[str, ...]
) -> Table:
    return without_unknown(Table(columns, tuple(values), TITLE, notes), always=4)


def _values(row: Row, found: Energy) -> tuple[Any, ...]:
    relative = ratio(found.error, found.joules)
    return (
        Measured(found.watts, found.watts * relative),
        Measured(found.joules, found.error, with_error=True),
        unit_of_work(row),
        Measured(found.by_power, found.by_power_error, with_error=True),
    )


def _has_sensors(row: Row) -> bool:
    for device in row.measuring:
        for sample in device.measured:
            if sample.power is not None or sample.energy is not None:
                return True
    return False
