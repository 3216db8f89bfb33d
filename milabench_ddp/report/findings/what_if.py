"""By how much a benchmark would be faster if something in its steps were otherwise."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...table import Measured
from ..model import Row
from ..process import counted
from ..ranks.ledger import LaunchTimes, launch_times
from ..statistics.batch_means import mean_error

if TYPE_CHECKING:
    from ...numerics import Floats


def launches_of(row: Row) -> list[LaunchTimes]:
    """The times of the ranks in each launch in which they are known."""
    found = []
    for process in counted(row.processes):
        times = launch_times(process.record, process.unsteady_of)
        if times is not None:
            found.append(times)
    return found


def faster(row: Row, otherwise: "Callable[[LaunchTimes], Floats]") -> Measured | None:
    """By how much all ranks would be faster if their steps were ``otherwise``.

    It is the ratio of the mean steps less 1, with half of its 95 % interval (by the delta method),
    and what it changes by if communication slows own work by as much more as that is uncertain.
    None if the ranks do not tell what is exposed.
    """
    from ...numerics import np

    launches = launches_of(row)
    if not launches:
        return None
    now = np.concatenate([times.steps() for times in launches])
    then = np.concatenate([otherwise(times) for times in launches])
    slower = np.concatenate([otherwise(times.slower()) for times in launches])
    ratio = float(now.mean() / then.mean())
    error = mean_error(now - ratio * then).half_width / float(then.mean())
    overlap = ratio - float(now.mean() / slower.mean())
    return Measured(ratio - 1, math.hypot(error, overlap), with_error=True)


def condition(row: Row) -> str:
    """What ``faster`` takes to be so where it is not known; empty if it is known."""
    if all(times.overlap or times.pipelines.size > 1 for times in launches_of(row)):
        return ""
    return ", if that slows no own work"
