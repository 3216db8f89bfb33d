"""By how much a benchmark would be faster if something in its steps were otherwise."""

import math
from collections.abc import Callable, Sequence

from ...numerics import Floats, np
from ...table import Measured
from ..model import Row
from ..ranks.ledger import LaunchTimes, launch_times
from ..statistics.batch_means import mean_error


def launches_of(row: Row) -> list[LaunchTimes]:
    """The times of the ranks in each launch; of those alone that tell what is exposed."""
    found = [launch_times(process.record, process.unsteady_of) for process in row.counted]
    return [times for times in found if times is not None]


def faster(launches: Sequence[LaunchTimes], otherwise: Callable[[LaunchTimes], Floats]) -> Measured:
    """By how much all ranks would be faster if their steps were ``otherwise``.

    It is the ratio of the mean steps less 1, with half of its 95 % interval (by the delta method),
    and what it changes by if communication slows own work by as much more as that is uncertain.
    """
    now = np.concatenate([times.steps() for times in launches])
    then = np.concatenate([otherwise(times) for times in launches])
    slower = np.concatenate([otherwise(times.slower()) for times in launches])
    ratio = float(now.mean() / then.mean())
    error = mean_error(now - ratio * then).half_width / float(then.mean())
    overlap = ratio - float(now.mean() / slower.mean())
    return Measured(ratio - 1, math.hypot(error, overlap), with_error=True)


def gain_text(gain: Measured) -> str:
    """How a gain is said: ``26 ±3% faster``; from twice the speed on, ``2.8 ±0.5 x as fast``."""
    if gain < 1:
        return f"{gain.text('.1%')} faster"
    return f"{Measured(gain + 1, gain.error, with_error=True).text('.2g')} x as fast"


def numbers_of(gain: Measured) -> dict[str, float]:
    return {"faster": float(gain), "faster_error": gain.error}


def condition(launches: Sequence[LaunchTimes]) -> str:
    """What ``faster`` takes to be so where it is not known; empty if it is known."""
    if all(times.overlap or times.pipelines.size > 1 for times in launches):
        return ""
    return ", if nothing else gets slower"
