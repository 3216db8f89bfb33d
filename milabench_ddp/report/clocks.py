"""The clocks of devices in the measured steps, and what held them down."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from ..grouping import grouped
from ..results.records import mapping_or_empty
from .monitored import Monitored, Stretch
from .statistics.values import NAN, known, mean

LEAST = 0.01  # of the measured steps: a sample of a hundred
MATTERS = 0.005  # the smallest loss of speed that is told


class ClockCause(Struct, frozen=True):
    """A cause of lower clocks, with the reasons of NVML that it stands for."""

    word: str  # for a column
    predicate: str  # for a sentence
    reasons: frozenset[str]


POWER = ClockCause("power", "power-capped", frozenset({"sw_power_cap"}))
HEAT = ClockCause(
    "heat", "slowed down by heat", frozenset({"sw_thermal_slowdown", "hw_thermal_slowdown"})
)
BRAKE = ClockCause(
    "power brake",
    "slowed down by the power brake of its server",
    frozenset({"hw_power_brake_slowdown"}),
)
HARDWARE = ClockCause("hardware", "slowed down by its hardware", frozenset({"hw_slowdown"}))
SETTING = ClockCause(
    "setting",
    "held at clocks that were set",
    frozenset({"applications_clocks_setting", "sync_boost", "display_clock_setting"}),
)
CAUSES = (HEAT, BRAKE, HARDWARE, POWER, SETTING)  # worst first


class Slowdown(Struct, frozen=True):
    """A device whose clocks a cause held down, over all launches of a benchmark."""

    label: str
    cause: ClockCause
    share: float  # of the measured steps
    clock: float  # SM, MHz, the mean meanwhile
    usual: float  # MHz, the mean otherwise; of other devices, or the device's highest, if never
    slower: float  # by which part its job was slower than otherwise; NaN if that may be chance


def sm_clock(devices: Iterable[Monitored]) -> float:
    """The mean SM clock of devices in the measured steps, in MHz; NaN if it is not known."""
    return mean(mean(sample.sm_clock for sample in device.measured) for device in devices)


def slowdowns(monitored: Iterable[Monitored]) -> list[Slowdown]:
    """The devices whose clocks were held down, by cause, worst first, and by their shares."""
    launches = grouped((device.label, device) for device in monitored)
    parts = {label: _by_cause(devices) for label, devices in launches.items()}
    free = {label: _clock(parts[label][None]) for label in launches}
    of_all = mean(free.values())
    found = []
    for label, devices in launches.items():
        highest = mapping_or_empty(devices[0].accelerator.get("clocks_max")).get("sm")
        usual = next(iter(known([free[label], of_all, highest])), NAN)
        for cause in CAUSES:
            held = parts[label][cause]
            share = math.fsum(stretch.steps for stretch in held) / len(devices)
            if share >= LEAST:
                slower = _slower(held, parts[label][None], devices)
                found.append(Slowdown(label, cause, share, _clock(held), usual, slower))

    def order(each: Slowdown) -> tuple[int, float, float, str]:
        return CAUSES.index(each.cause), -round(each.share, 2), each.clock, each.label

    return sorted(found, key=order)


def held_down(devices: Iterable[Monitored]) -> str:
    """What held the clocks of the device down that was held down most: ``power 41%, heat 3%``."""
    shares: dict[str, float] = {}
    for each in slowdowns(devices):
        shares.setdefault(each.cause.word, each.share)
    return ", ".join(f"{word} {share:.0%}" for word, share in shares.items())


def taken_while(devices: Iterable[Monitored]) -> str:
    """The mark of a number: what slowed the devices down meanwhile; empty if nothing did."""
    causes = dict.fromkeys(each.cause for each in slowdowns(devices))
    predicates = [cause.predicate for cause in causes if cause != SETTING]
    return f"taken while devices were {' and '.join(predicates)}" if predicates else ""


@cache
def clock_causes(reasons: tuple[str, ...]) -> tuple[ClockCause, ...]:
    """The causes behind the reasons of a sample.

    NVML names a slowdown by the hardware also where it names the heat or the power brake behind it.
    """
    found = [cause for cause in CAUSES if not cause.reasons.isdisjoint(reasons)]
    if HARDWARE in found and (HEAT in found or BRAKE in found):
        found.remove(HARDWARE)
    return tuple(found)


def _by_cause(devices: Iterable[Monitored]) -> Mapping[ClockCause | None, list[Stretch]]:
    """The stretches in which each cause held the clocks down; None: nothing did."""
    return grouped(
        (cause, stretch)
        for device in devices
        for stretch in device.stretches
        for cause in clock_causes(stretch.sample.clock_reasons or ()) or (None,)
    )


def _clock(stretches: Sequence[Stretch]) -> float:
    return mean(stretch.sample.sm_clock for stretch in stretches)


def _slower(
    held: Sequence[Stretch], rest: Sequence[Stretch], devices: Sequence[Monitored]
) -> float:
    """By which part the job was slower in some stretches of devices than in the others.

    Returns:
        the part; NaN if it is not known, or within two standard errors of the difference of means.
    """
    observations = sum(len(device.window.ends) - 1 for device in devices if device.window)
    samples = sum(len(device.stretches) for device in devices)
    worth = min(observations / samples, 1.0)  # independent observations of a stretch
    speeds, squares, error = [], [], 0.0
    for stretches in (held, rest):
        lasted = [stretch for stretch in stretches if stretch.seconds > 0]
        if not lasted:
            return NAN
        steps = math.fsum(stretch.steps for stretch in lasted)
        speed = steps / math.fsum(stretch.seconds for stretch in lasted)
        squares += [(stretch.steps / stretch.seconds - speed) ** 2 for stretch in lasted]
        error += 1 / (worth * len(lasted))
        speeds.append(speed)
    slow, usual = speeds
    if len(squares) < 3 or not usual > 0:
        return NAN
    error *= math.fsum(squares) / (len(squares) - 2)
    return 1 - slow / usual if abs(usual - slow) > 2 * math.sqrt(error) else NAN
