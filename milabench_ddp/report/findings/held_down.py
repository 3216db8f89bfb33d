"""Findings about clocks: devices that were slowed down while a benchmark was measured."""

import math
from collections.abc import Sequence

from ...errors import shown_names
from ..clocks import BRAKE, HARDWARE, HEAT, MATTERS, POWER, SETTING, Cause, Slowdown, slowdowns
from ..finding import Finding, Findings
from ..model import Row


def throttled(row: Row) -> Findings:
    """Devices that heat, the power brake or their hardware slowed down."""
    yield from _held_down(row, (HEAT, BRAKE, HARDWARE))


def power_capped(row: Row) -> Findings:
    """Devices whose clocks the power cap held down."""
    yield from _held_down(row, (POWER,))


def set_clocks(row: Row) -> Findings:
    """Devices whose clocks were set, so that they were not higher."""
    yield from _held_down(row, (SETTING,))


def _held_down(row: Row, causes: Sequence[Cause]) -> Findings:
    """A finding for each cause; it tells of the device that was held down most."""
    found = slowdowns(row.measuring)
    for cause in causes:
        devices = [each for each in found if each.cause == cause]
        if not devices:
            continue
        most = devices[0]
        in_steps = f"in {most.share:.0%} of the measured steps"
        sentence = f"{most.label} was {cause.predicate} {in_steps}"
        if len(devices) > 1:
            sentence = f"{len(devices)} GPUs were {cause.predicate}, most {most.label} {in_steps}"
        if effect := _effect(most):
            sentence += f": {effect}"
        evidence = [_evidence(each) for each in devices]
        place = shown_names([each.label for each in devices])
        yield Finding(sentence, place=place, evidence={"devices": evidence})


def _effect(slowdown: Slowdown) -> str:
    if math.isnan(slowdown.clock):
        return ""
    clock = f"{slowdown.clock:.0f} MHz"
    if slowdown.usual > slowdown.clock:
        clock = f"{slowdown.clock:.0f} instead of {slowdown.usual:.0f} MHz"
    return f"{clock}, -{slowdown.slower:.0%}" if slowdown.slower > MATTERS else clock


def _evidence(slowdown: Slowdown) -> dict[str, object]:
    return {
        "device": slowdown.label,
        "share": slowdown.share,
        "sm_clock": slowdown.clock,
        "usual": slowdown.usual,
        "slower": slowdown.slower,
    }
