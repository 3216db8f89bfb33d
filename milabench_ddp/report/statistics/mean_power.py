"""The mean power of a device over a window, by its energy counter and by samples of its power.

Both errors are half the width of an interval that holds the truth in 95 of 100 windows, as far as
the sensors resolve it. What a sensor is off by as a whole, some per cent, no reading shows.

**The counter** of NVIDIA's GPUs moves every 100 ms, so each of the two readings whose difference
counts is up to 100 ms old: the error of the difference has a triangular distribution. And readings
begin and end up to an interval from the ends of the window. What was drawn there is taken to be as
in the rest, and may be off as much as the intervals between readings differ.

**Samples of the power**, once a second, are of the last second on most of NVIDIA's GPUs, but of
25 ms of each 100 ms on an A100 (Z. Yang, K. Adamek, W. Armour, "Part-time power measurements:
nvidia-smi's lack of attention", SC24). Their mean is as unsure as they differ, the more where
neighbours are alike (see ``batch_means``). Of a power that swings in time with the samples they see
one place alone, and no error tells that; ``tests/studies/planted_energy.py`` shows how often that
happens.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from ...numerics import np
from .batch_means import mean_error, t_quantile
from .values import total

SHORTEST = 5.0  # seconds: below, two ticks of the counter are 4 % and more
TICK = 0.1  # seconds between two changes of the counter
WITHIN = 1 - math.sqrt(0.05)  # of its range: 95 % of a symmetric triangular distribution
FEWEST = 3  # readings of the counter
FEWEST_SAMPLES = 8  # of the power: fewer are all alike by chance
LEAST_SEEN = 0.5  # of the window
APART = 0.05  # from so much on, the two ways are shown beside each other


Readings = Sequence[tuple[float, float]]  # the time (s) and the value of each, in the order of time


class MeanPower(Struct, frozen=True):
    """A mean power and its error, in W."""

    watts: float
    error: float


def _inside(readings: Readings, begin: float, end: float) -> Readings:
    """The readings in a window; none if it is too short to know its power.

    Args:
        begin: of the window, in seconds as the times.
    """
    if end - begin < SHORTEST:
        return []
    return [each for each in readings if begin <= each[0] <= end]


def by_counter(readings: Readings, begin: float, end: float) -> MeanPower | None:
    """The mean power in a window by an energy counter; None if it cannot be known.

    Args:
        readings: of the energy, in J.
        begin: of the window, in seconds as the times.
    """
    inside = _inside(readings, begin, end)
    if len(inside) < FEWEST:
        return None
    times, joules = np.array(inside).T
    steps, gains = np.diff(times), np.diff(joules)
    seen, gained = float(times[-1] - times[0]), float(joules[-1] - joules[0])
    if gained <= 0 or seen < LEAST_SEEN * (end - begin):
        return None
    if (gains < 0).any():  # the driver was loaded anew
        return None
    watts = gained / seen
    ticks = WITHIN * TICK * watts / seen
    # Ticks alone make the powers between readings differ; that is counted already, but no less than
    # this, for what was drawn in the rest of the window.
    freedom = len(steps) - 1
    spread = math.sqrt(total((gains / steps - watts) ** 2) / freedom)
    rest = end - begin - seen
    unseen = t_quantile(freedom) * spread * math.sqrt(seen / len(steps) * rest) / (end - begin)
    return MeanPower(watts, math.hypot(ticks, unseen))


def by_power(readings: Readings, begin: float, end: float) -> MeanPower | None:
    """The mean power in a window by samples of it, each for the time that is nearest to it.

    Args:
        readings: of the power, in W.
        begin: of the window, in seconds as the times.

    Returns:
        None if it cannot be known.
    """
    inside = _inside(readings, begin, end)
    if len(inside) < FEWEST_SAMPLES:
        return None
    times, powers = map(np.array, zip(*inside, strict=True))
    edges = np.concatenate([[begin], (times[1:] + times[:-1]) / 2, [end]])
    seconds = np.diff(edges)
    usual = float(np.median(np.diff(times)))
    if float(np.minimum(seconds, 2 * usual).sum()) < LEAST_SEEN * (end - begin):
        return None
    watts = float(powers @ seconds) / (end - begin)
    if not watts > 0:  # a sensor that does not work
        return None
    return MeanPower(watts, mean_error(powers).half_width)
