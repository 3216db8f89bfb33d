"""Findings about devices that a benchmark shares, or that slow down: heat, power, set clocks."""

import math

from ...errors import shown_names
from ...grouping import grouped
from ..clocks import BRAKE, HARDWARE, HEAT, MATTERS, POWER, SETTING, ClockCause, slowdowns
from ..model import Row
from ..statistics.values import largest
from .finder import Finds, Found, Looked, finding

HOT = 5.0  # degrees below the heat at which a device slows down
LEAST_SHARED = 0.01  # of the measured steps
SLOWED_DOWN = "{who} in {share:.0%} of the measured steps[: {clock} MHz][, -{slower:.0%}]"
SHOWN = 3  # processes that a sentence names


@finding(
    "warning",
    "{place} was shared in {share:.0%} of the measured steps: {others}",
    "measure again when it has ended, or on another GPU",
    section="devices",
)
def foreign_process(row: Row) -> Finds:
    """Devices on which processes that are not of the run computed, too."""
    for label, launches in grouped((each.label, each) for each in row.measuring).items():
        every = [stretch for device in launches for stretch in device.stretches]
        shared = [stretch for stretch in every if stretch.sample.foreign]
        share = sum(stretch.steps for stretch in shared) / len(launches)
        if share >= LEAST_SHARED:
            names = list(dict.fromkeys(n for each in shared for n in each.sample.foreign or ()))
            yield Found(
                label,
                evidence={"share": share, "processes": names},
                words={"others": shown_names(names, SHOWN)},
            )


@finding(
    "warning",
    "{place} {came} the heat that slows it down[ (it was at {temperature:.0f} C)]",
    "look at its cooling and its neighbours",
    section="devices",
)
def hot(row: Row) -> Finds:
    """Devices that were about to be slowed down by heat."""
    for label, launches in grouped((each.label, each) for each in row.measuring).items():
        in_use = [sample for device in launches for sample in device.in_use]
        left = min((each.headroom for each in in_use if each.headroom is not None), default=HOT)
        if left < HOT:
            hottest = largest(sample.temperature for sample in in_use)
            came = f"came within {left:.0f} degrees of" if left > 0 else "reached"
            yield Found(label, {"headroom": left, "temperature": hottest}, {"came": came})


def _devices_clocked(row: Row) -> Looked:
    read = [any(each.sm_clock for each in device.measured) for device in row.measuring]
    return sum(read) or ("no readings of clocks" if read else 0)


@finding(
    "warning",
    SLOWED_DOWN,
    "look at its cooling and its power supply",
    section="devices",
    costs="lost",
    looks_for="throttling",
    among=_devices_clocked,
)
def throttled(row: Row) -> Finds:
    """Devices that heat, the power brake or their hardware slowed down."""
    return _slowed_down(row, HEAT, BRAKE, HARDWARE)


@finding(
    "note", SLOWED_DOWN, "compare it at the same power cap alone", section="devices", costs="lost"
)
def power_capped(row: Row) -> Finds:
    return _slowed_down(row, POWER)


@finding(
    "note", SLOWED_DOWN, "`nvidia-smi -rgc` and `-rac` reset them", section="devices", costs="lost"
)
def set_clocks(row: Row) -> Finds:
    """Devices whose clocks were set, so that they were not higher."""
    return _slowed_down(row, SETTING)


def _slowed_down(row: Row, *causes: ClockCause) -> Finds:
    """A finding for each cause; it tells of the device that was held down most."""
    found = slowdowns(row.measuring)
    for cause in causes:
        devices = [each for each in found if each.cause == cause]
        if not devices:
            continue
        most = devices[0]
        who = f"{most.label} was {cause.predicate}"
        if len(devices) > 1:
            who = f"{len(devices)} GPUs were {cause.predicate}, most {most.label}"
        evidence = []
        for each in devices:
            device = {"device": each.label, "share": each.share, "sm_clock": each.clock}
            evidence.append(device | {"usual": each.usual, "slower": each.slower})
        clock = f"{most.clock:.0f}"
        if most.usual > most.clock:
            clock += f" instead of {most.usual:.0f}"
        words = {
            "who": who,
            "share": most.share,
            "clock": "" if math.isnan(most.clock) else clock,
            "slower": most.slower if most.slower > MATTERS and most.clock >= 0 else None,
        }
        lost = most.share * most.slower if most.slower > 0 else 0.0
        found_in = shown_names([each.label for each in devices])
        yield Found(found_in, {"devices": evidence, "lost": lost}, words)
