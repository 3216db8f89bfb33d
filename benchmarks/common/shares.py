"""What the steps of a loop consist of: the wait for data, and each part of their bodies."""

from collections.abc import Sequence
from statistics import fmean, pstdev

from benchmarks.common.timing import StepTimer


def shares(timer: StepTimer) -> dict[str, float]:
    """Each part's share of the measured steps; they sum to 1. Empty where there are no parts."""
    total = sum(timer.ms)
    return {name: round(sum(ms) / total, 6) for name, ms in _parts(timer).items()} if total else {}


def spread(timer: StepTimer) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each part over the measured steps, in milliseconds."""
    return {
        name: (round(fmean(ms), 4), round(pstdev(ms), 4))
        for name, ms in _parts(timer).items()
        if ms
    }


def _parts(timer: StepTimer) -> dict[str, Sequence[float]]:
    if len(timer.part_ms) < 2:
        return {}
    return {**timer.part_ms, "data": timer.wait_ms}
