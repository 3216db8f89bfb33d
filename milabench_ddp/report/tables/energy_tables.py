"""The energy of a unit of work."""

from collections.abc import Iterator

from msgspec import Struct

from ...table import Column, Measured
from ..energy import UNKNOWN, Energy, energy_of_devices, energy_of_row, too_short, unit_of_work
from ..model import Row, Rows
from ..statistics.mean_power import SHORTEST
from ..statistics.values import ratio
from .selection import TableOf

OF_WHAT = "(of the GPU boards, not of the node; what their sensors are off by is not in ±)"


class Used(Struct, frozen=True):
    """The energy of a device, or of all devices of a benchmark."""

    of: Energy
    unit: str
    device: str = ""
    devices: int = 1

    @property
    def watts(self) -> Measured:
        return Measured(self.of.watts, self.of.watts * ratio(self.of.error, self.of.joules))

    @property
    def joules(self) -> Measured:
        return Measured(self.of.joules, self.of.error, with_error=True)

    @property
    def by_power(self) -> Measured:
        return Measured(self.of.by_power, self.of.by_power_error, with_error=True)


def _of_benchmark(row: Row) -> Iterator[Used]:
    """Nothing where neither the energy is known, nor it was measured too shortly."""
    found = energy_of_row(row)
    if found is not None or _is_too_short(row):
        devices = {device.label for device in row.measuring}
        yield Used(found or UNKNOWN, unit_of_work(row), devices=len(devices))


def _of_devices(row: Row) -> Iterator[Used]:
    for label, found in energy_of_devices(row).items():
        if found is not None:
            yield Used(found, unit_of_work(row), label)


def _is_too_short(row: Row) -> bool:
    if not too_short(row):
        return False
    samples = [sample for device in row.measuring for sample in device.measured]
    return any(each.power is not None or each.energy is not None for each in samples)


def _notes(rows: Rows) -> Iterator[str]:
    yield OF_WHAT
    if short := [row.name for row in rows if _is_too_short(row)]:
        yield f"(measured for less than {SHORTEST:g} s: {', '.join(short)})"
    if any(used.by_power > 0 for row in rows for used in _of_benchmark(row)):
        yield "(J is by the energy counter; samples of the power differ from it)"


KNOWN = (
    Column("W", ".4g", "watts"),
    Column("J", ".4g", "joules"),
    Column("for a", "", "unit", unknown=""),
    Column("J by power", ".4g", "by_power", unknown=""),
)
energy = TableOf("Energy", _of_devices, (Column("device"), *KNOWN), 4, lambda _: [OF_WHAT])
energy_total = TableOf("Energy", _of_benchmark, (Column("GPUs", "d", "devices"), *KNOWN), 4, _notes)
