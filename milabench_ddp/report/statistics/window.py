"""When a process measured its steady state, by the clock of its node."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from ...results.records import Observation, is_finite
from .durations import LATE, Weighed, by_elapsed

if TYPE_CHECKING:
    from .values import Floats


@dataclass(frozen=True)
class Window:
    """The time of the observations in the steady state, from its begin to its end."""

    # the begin, then the end of each observation: seconds since the epoch, shape (n + 1,)
    ends: tuple[float, ...]
    work: tuple[float, ...]  # the share of the work that was done until then, from 0 to 1

    @property
    def begin(self) -> float:
        """When the first observation began."""
        return self.ends[0]

    @property
    def end(self) -> float:
        """When the last observation ended."""
        return self.ends[-1]

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end - self.begin

    def shares(self, times: Sequence[float]) -> tuple["Floats", "Floats"]:
        """The parts of the window that are nearest to each time, as work and as seconds.

        Args:
            times: within the window, ascending, shape (k,).

        Returns:
            shares of the work, whose sum is 1, and seconds, shape (k,) each.
        """
        import numpy as np

        middles = [(before + after) / 2 for before, after in pairwise(times)]
        edges = np.array([self.begin, *middles, self.end])
        return np.diff(np.interp(edges, self.ends, self.work)), np.diff(edges)


def window_of(observations: Sequence[Weighed], start: int) -> Window | None:
    """The window of the observations from ``start`` on; None if no clock tells it.

    Args:
        observations: those that count, with their durations, in the order of time.
        start: how many come before the steady state.
    """
    lines = [line for line, _ in observations]
    ends, begin = _ends(lines)
    if start == 0 and (begin is None or _is_late(observations, ends, begin)):
        start = 1  # the end of the first is the begin of the second
    if len(ends) <= start or list(ends) != sorted(ends):
        return None
    first = ends[start - 1] if start or begin is None else begin
    done = [0.0]
    for line, seconds in observations[start:]:
        done.append(done[-1] + line.rate * seconds)
    if not (done[-1] > 0 and ends[-1] > first):
        return None
    return Window((first, *ends[start:]), tuple(units / done[-1] for units in done))


def _is_late(observations: Sequence[Weighed], ends: Sequence[float], begin: float) -> bool:
    """Whether the first observation ended later than it lasted: its loop began with a warm-up."""
    others = math.fsum(seconds for _, seconds in observations[1:])
    if not others > 0:
        return False
    second = (ends[-1] - ends[0]) / others
    return ends[0] - begin > LATE * second * observations[0][1]


def _ends(lines: Sequence[Observation]) -> tuple[Sequence[float], float | None]:
    """When each observation ended, and when the first began, if that is known.

    A line may be written long after the end of its observation. If lines tell the time since the
    loop began, the one that was written soonest tells when that was.
    """
    times = _finite(lines, "time") or _finite(lines, "arrived")
    if times is None:
        return (), None
    elapsed = _finite(lines, "elapsed")
    if elapsed is None or not _finite(lines, "time"):
        return times, None
    if by_elapsed(lines):  # milabench's are the duration of each
        return times, times[0] - elapsed[0]
    began = min(time - since for time, since in zip(times, elapsed, strict=True))
    return [began + since for since in elapsed], began


def _finite(lines: Sequence[Observation], name: str) -> list[float] | None:
    """The values of an attribute; None unless all are known."""
    values = list(map(attrgetter(name), lines))
    return values if values and all(map(is_finite, values)) else None
