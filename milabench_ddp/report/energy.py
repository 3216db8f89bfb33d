"""The energy of devices for a unit of work: of their boards, not of the node.

It is the mean power in the measured steps over the rate. That of a job is the sum over its devices,
so it is known only if that of each is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from ..codec import about
from ..grouping import grouped
from ..results.records import is_finite
from .model import Row
from .monitored import Monitored
from .statistics.mean_power import APART, SHORTEST, MeanPower, Readings, by_counter, by_power
from .statistics.values import NAN, mean

AVERAGED = 1.0  # seconds: a sample of the power is the mean over the last one, on most devices


@dataclass(frozen=True)
class Energy:
    """The power of the boards of one device or of several, and the energy for a unit of work."""

    watts: Annotated[float, about("the mean power", "W")]
    joules: Annotated[float, about("for a unit of work; by the counter, else by its power", "J")]
    error: Annotated[float, about("half of the 95 % interval", "J")]
    by_power: Annotated[float, about("by samples of the power, if both are far apart", "J")] = NAN
    by_power_error: Annotated[float, about("half of the 95 % interval", "J")] = NAN
    unit: Annotated[str, about("the unit of work, such as token")] = ""


UNKNOWN = Energy(NAN, NAN, NAN)


def unit_of_work(row: Row) -> str:
    """What the energy is for: ``token`` of ``tokens/s``."""
    return row.unit.removesuffix("/s").removesuffix("s") or "unit"


def too_short(row: Row) -> bool:
    windows = [device.window for device in row.measuring if device.window is not None]
    return any(window.seconds < SHORTEST for window in windows)


def energy_of_devices(row: Row) -> dict[str, Energy | None]:
    """The energy of each device for its part of the work, the mean over launches, by its label.

    In a job each device does as much of the work as the others.
    """
    sharing = Counter(id(device.teller) for device in row.measuring)
    # jobs may share a device
    launches = grouped(((device.label, device.launch), device) for device in row.measuring)
    found: dict[str, list[Energy | None]] = defaultdict(list)
    for (label, _), jobs in launches.items():
        rates = [job.rate / sharing[id(job.teller)] for job in jobs if job.teller is not None]
        if rates:
            found[label].append(_energy(jobs[:1], math.fsum(rates)))
    return {label: _mean(energies) for label, energies in found.items()}


def energy_of_row(row: Row) -> Energy | None:
    """The energy of all devices of a launch for a unit of work, the mean over launches."""
    launches = grouped((device.launch, device) for device in row.measuring)
    if row.is_bandwidth or row.why_no_rate:
        return None
    found = _mean([_of_launch(devices, row.ngpu) for devices in launches.values()])
    return found and replace(found, unit=unit_of_work(row))


def _of_launch(devices: Sequence[Monitored], ngpu: float) -> Energy | None:
    distinct = {device.label: device for device in devices}  # jobs may share it
    alone = all(device.process.record.device is not None for device in devices)
    if not alone and len(distinct) < ngpu:
        return None
    rates = {id(device.teller): device.rate for device in devices if device.teller is not None}
    return _energy(distinct.values(), math.fsum(rates.values()))


def _energy(devices: Collection[Monitored], rate: float) -> Energy | None:
    counted = _power(devices, "energy", by_counter)
    sampled = _power(devices, "power", by_power, AVERAGED)
    best = counted or sampled
    if best is None or not rate > 0:
        return None
    found = Energy(best.watts, best.watts / rate, best.error / rate)
    if counted is None or sampled is None or abs(sampled.watts / counted.watts - 1) <= APART:
        return found
    return replace(found, by_power=sampled.watts / rate, by_power_error=sampled.error / rate)


def _power(
    devices: Iterable[Monitored],
    name: str,
    measure: Callable[[Readings, float, float], MeanPower | None],
    delay: float = 0.0,
) -> MeanPower | None:
    """The power of several devices; their errors add up, because they share their ups and downs.

    Args:
        devices: at least one.
        measure: calculates the power by the readings within a time.
        delay: seconds of the window of each whose readings are also of the time before it.
    """
    found = []
    for device in devices:
        readings = []
        for stretch in device.stretches:
            time, value = stretch.sample.time, getattr(stretch.sample, name)
            if time is not None and is_finite(value):
                readings.append((time, value))
        window = device.window
        power = measure(readings, window.begin + delay, window.end) if window else None
        if power is None:
            return None
        found.append(power)
    watts, error = math.fsum(each.watts for each in found), math.fsum(each.error for each in found)
    return MeanPower(watts, error)


def _mean(found: Sequence[Energy | None]) -> Energy | None:
    known = [each for each in found if each is not None]
    count = len(known)
    if not known or count < len(found):
        return None
    return Energy(
        mean(each.watts for each in known),
        mean(each.joules for each in known),
        math.hypot(*(each.error for each in known)) / count,
        math.fsum(each.by_power for each in known) / count,
        math.hypot(*(each.by_power_error for each in known)) / count,
    )
