"""The clocks of devices in the measured steps, and what held them down."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..results.records import mapping_or_empty
from ..samples import DeviceSample
from .monitored import Monitored, Stretch
from .statistics.values import NAN, mean

LEAST = 0.01  # of the measured steps: a sample of a hundred
MATTERS = 0.005  # the smallest loss of speed that is told


@dataclass(frozen=True)
class Cause:
    """A cause of lower clocks, with the reasons of NVML that it stands for."""

    word: str  # for a column
    predicate: str  # for a sentence
    reasons: frozenset[str]


POWER = Cause("power", "power-capped", frozenset({"sw_power_cap"}))
HEAT = Cause(
    "heat", "slowed down by heat", frozenset({"sw_thermal_slowdown", "hw_thermal_slowdown"})
)
BRAKE = Cause(
    "power brake",
    "slowed down by the power brake of its server",
    frozenset({"hw_power_brake_slowdown"}),
)
HARDWARE = Cause("hardware", "slowed down by its hardware", frozenset({"hw_slowdown"}))
SETTING = Cause(
    "setting",
    "held at clocks that were set",
    frozenset({"applications_clocks_setting", "sync_boost", "display_clock_setting"}),
)
CAUSES = (HEAT, BRAKE, HARDWARE, POWER, SETTING)  # worst first


@dataclass(frozen=True)
class Slowdown:
    """A device whose clocks a cause held down, over all launches of a benchmark."""

    label: str
    cause: Cause
    share: float  # of the measured steps
    clock: float  # SM, MHz, the mean meanwhile
    usual: float  # MHz, the mean otherwise; of other devices, or the device's highest, if never
    slower: float  # by which part its job was slower than otherwise; NaN if it is not known


def sm_clock(devices: Iterable[Monitored]) -> float:
    """The mean SM clock of devices in the measured steps, in MHz; NaN if it is not known."""
    means = []
    for device in devices:
        means.append(mean(sample.sm_clock for sample in device.measured))
    return mean(means)


def slowdowns(monitored: Iterable[Monitored]) -> list[Slowdown]:
    """The devices whose clocks were held down, by cause, worst first, and by their shares."""
    launches: dict[str, list[Monitored]] = defaultdict(list)
    for device in monitored:
        launches[device.label].append(device)
    free = {label: _usual(devices) for label, devices in launches.items()}
    found = []
    for cause in CAUSES:
        of_cause = []
        for label, devices in launches.items():
            held, rest = _parted(devices, cause)
            share = sum(stretch.steps for stretch in held) / len(devices)
            if share >= LEAST:
                others = [clock for other, clock in free.items() if other != label]
                usual = _first(free[label], mean(others), _highest(devices[0]))
                clock = _clock(held)
                slowdown = Slowdown(label, cause, share, clock, usual, 1 - _speed(held, rest))
                of_cause.append(slowdown)
        found += sorted(of_cause, key=lambda each: (-round(each.share, 2), each.clock, each.label))
    return found


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


def causes_of(sample: DeviceSample) -> list[Cause]:
    """The causes that hold the clocks down in a sample.

    NVML names a slowdown by the hardware also where it names the heat or the power brake behind it.
    """
    reasons = frozenset(sample.clock_reasons or ())
    found = [cause for cause in CAUSES if cause.reasons & reasons]
    if HARDWARE in found and reasons & (HEAT.reasons | BRAKE.reasons):
        found.remove(HARDWARE)
    return found


def _parted(devices: Iterable[Monitored], cause: Cause) -> tuple[list[Stretch], list[Stretch]]:
    """The stretches in which a cause held the clocks of a device down, and those without any."""
    held, rest = [], []
    for device in devices:
        for stretch in device.stretches:
            causes = causes_of(stretch.sample)
            if cause in causes:
                held.append(stretch)
            elif not causes:
                rest.append(stretch)
    return held, rest


def _usual(devices: Iterable[Monitored]) -> float:
    """The clock of a device while nothing held it down; NaN if something always did."""
    free = []
    for device in devices:
        free += [stretch for stretch in device.stretches if not causes_of(stretch.sample)]
    return _clock(free)


def _clock(stretches: Sequence[Stretch]) -> float:
    return mean(stretch.sample.sm_clock for stretch in stretches)


def _highest(device: Monitored) -> float:
    """The highest SM clock of a device, in MHz, as its driver tells it."""
    return mean([mapping_or_empty(device.accelerator.get("clocks_max")).get("sm")])


def _speed(held: Sequence[Stretch], rest: Sequence[Stretch]) -> float:
    """The speed of the job in some stretches, relative to that in others; NaN without these."""
    if not rest:
        return NAN
    per_second = []
    for stretches in (held, rest):
        steps = math.fsum(stretch.steps for stretch in stretches)
        per_second.append(steps / math.fsum(stretch.seconds for stretch in stretches))
    return per_second[0] / per_second[1] if per_second[1] else NAN


def _first(*values: float) -> float:
    """The first value that is known."""
    return next((value for value in values if not math.isnan(value)), NAN)
