"""The energy of devices for a unit of work: of their boards, not of the node.

It is the mean power in the measured steps over the rate. That of a job is the sum over its devices,
so it is known only if that of each is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from ..codec import about
from ..results.records import is_finite
from .model import Row
from .monitored import Monitored
from .process import ProcessResult
from .statistics.mean_power import APART, SHORTEST, MeanPower, by_counter, by_power
from .statistics.values import NAN

AVERAGED = 1.0  # seconds: a sample of the power is the mean over the last one, on most devices


@dataclass(frozen=True)
class Energy:
    """The power of one device or of several, and the energy for a unit of work."""

    watts: Annotated[float, about("the mean power", "W")]
    joules: Annotated[float, about("for a unit of work; by the counter, else by its power", "J")]
    error: Annotated[float, about("half of the 95 % interval", "J")]
    by_power: Annotated[float, about("by samples of the power, if both are far apart", "J")] = NAN
    by_power_error: Annotated[float, about("half of the 95 % interval", "J")] = NAN


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
    launches: dict[tuple[str, tuple[str, str]], list[Monitored]] = defaultdict(list)
    for device in row.measuring:
        launches[device.label, device.launch].append(device)  # jobs may share it
    found: dict[str, list[Energy | None]] = defaultdict(list)
    for (label, _), jobs in launches.items():
        rates = []
        for job in jobs:
            if job.teller is not None and job.teller.series is not None:
                rates.append(job.teller.series.mean / sharing[id(job.teller)])
        if rates:
            found[label].append(_energy(jobs[:1], math.fsum(rates)))
    return {label: _mean(energies) for label, energies in found.items()}


def energy_of_row(row: Row) -> Energy | None:
    """The energy of all devices of a launch for a unit of work, the mean over launches."""
    launches: dict[tuple[str, str], list[Monitored]] = defaultdict(list)
    for device in row.measuring:
        launches[device.launch].append(device)
    if row.is_bandwidth:
        return None
    return _mean([_of_launch(devices, row) for devices in launches.values()])


def _of_launch(devices: Sequence[Monitored], row: Row) -> Energy | None:
    tellers: dict[str, ProcessResult] = {}
    distinct: dict[str, Monitored] = {}
    for device in devices:
        distinct[device.label] = device  # jobs may share it
        if device.teller is not None:
            tellers[str(device.teller.record.path)] = device.teller
    alone = all(device.process.record.device is not None for device in devices)
    if not alone and len(distinct) < row.ngpu:
        return None
    rates = [teller.series.mean for teller in tellers.values() if teller.series is not None]
    return _energy(list(distinct.values()), math.fsum(rates))


def _energy(devices: Iterable[Monitored], rate: float) -> Energy | None:
    """The energy of devices that together do so many units of work in a second."""
    found = [(_by_counter(device), _by_power(device)) for device in devices]
    counted = _sum([counter for counter, _ in found])
    sampled = _sum([power for _, power in found])
    best = counted or sampled
    if best is None or not rate > 0:
        return None
    if counted is None or sampled is None or abs(sampled.watts / counted.watts - 1) <= APART:
        return Energy(best.watts, best.watts / rate, best.error / rate)
    joules = counted.watts / rate, counted.error / rate
    return Energy(counted.watts, *joules, sampled.watts / rate, sampled.error / rate)


def _sum(powers: Sequence[MeanPower | None]) -> MeanPower | None:
    """The power of several devices; their errors add up, because they share their ups and downs."""
    known = [power for power in powers if power is not None]
    if not known or len(known) < len(powers):
        return None
    watts, errors = zip(*((power.watts, power.error) for power in known), strict=True)
    return MeanPower(math.fsum(watts), math.fsum(errors))


def _by_counter(device: Monitored) -> MeanPower | None:
    window = device.window
    return by_counter(_readings(device, "energy"), window.begin, window.end) if window else None


def _by_power(device: Monitored) -> MeanPower | None:
    window = device.window
    if window is None:
        return None
    return by_power(_readings(device, "power"), window.begin + AVERAGED, window.end)


def _readings(device: Monitored, name: str) -> list[tuple[float, float]]:
    found = []
    for stretch in device.stretches:
        time, value = stretch.sample.time, getattr(stretch.sample, name)
        if time is not None and is_finite(value):
            found.append((time, value))
    return found


def _mean(found: Sequence[Energy | None]) -> Energy | None:
    """The mean over launches; None if one of them is not known."""
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    count = len(known)
    return Energy(
        math.fsum(each.watts for each in known) / count,
        math.fsum(each.joules for each in known) / count,
        math.hypot(*(each.error for each in known)) / count,
        math.fsum(each.by_power for each in known) / count,
        math.hypot(*(each.by_power_error for each in known)) / count,
    )
