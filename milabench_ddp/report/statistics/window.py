"""When a process measured its steady state, and the clock of one rank on that of another."""

from collections.abc import Sequence

from msgspec import Struct

from ...numerics import Floats, np
from ...results.rate_columns import RateColumns
from .durations import LATE, Weighed, by_elapsed
from .values import total

WINDOW = 21  # steps over which an offset is the median, so that one late rank does not move it


class Window(Struct, frozen=True, eq=False):
    """The time of the observations in the steady state, from its begin to its end."""

    # the begin, then the end of each observation: seconds since the epoch, shape (n + 1,)
    ends: Floats
    work: Floats  # the share of the work that was done until then, from 0 to 1, shape (n + 1,)

    @property
    def begin(self) -> float:
        return float(self.ends[0])

    @property
    def end(self) -> float:
        return float(self.ends[-1])

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def shares(self, times: Sequence[float]) -> tuple[Floats, Floats]:
        """The parts of the window that are nearest to each time, as work and as seconds.

        Args:
            times: within the window, ascending, shape (k,).

        Returns:
            shares of the work, whose sum is 1, and seconds, shape (k,) each.
        """
        middles = (np.array(times[1:]) + np.array(times[:-1])) / 2
        edges = np.concatenate([[self.begin], middles, [self.end]])
        return np.diff(np.interp(edges, self.ends, self.work)), np.diff(edges)


def window_of(observations: Weighed, start: int) -> Window | None:
    """The window of the observations from ``start`` on; None if no clock tells it."""
    lines, seconds = observations.lines, observations.seconds
    if not len(lines):
        return None
    ends, begin = _ends(lines)
    if start == 0 and (begin is None or _is_late(seconds, ends, begin)):
        start = 1  # the end of the first is the begin of the second
    if len(ends) <= start or not (np.diff(ends) >= 0).all():  # false for NaN
        return None
    first = ends[start - 1] if start or begin is None else begin
    done = np.concatenate([[0.0], np.cumsum(lines.rate[start:] * seconds[start:])])
    if not (done[-1] > 0 and ends[-1] > first):
        return None
    return Window(np.concatenate([[first], ends[start:]]), done / done[-1])


def _is_late(seconds: Floats, ends: Floats, begin: float) -> bool:
    others = total(seconds[1:])
    if not others > 0:
        return False
    second = float(ends[-1] - ends[0]) / others
    return float(ends[0]) - begin > LATE * second * float(seconds[0])


def _ends(lines: RateColumns) -> tuple[Floats, float | None]:
    """When each observation ended, and when the first began, if that is known.

    A line may be written long after the end of its observation. If lines tell the time since the
    loop began, the one that was written soonest tells when that was.
    """
    if np.isnan(lines.time).any():
        return lines.arrived, None
    if np.isnan(lines.elapsed).any():
        return lines.time, None
    if by_elapsed(lines) is not None:  # milabench's are the duration of each
        return lines.time, float(lines.time[0] - lines.elapsed[0])
    began = float((lines.time - lines.elapsed).min())
    return began + lines.elapsed, began


class Alignment(Struct, frozen=True):
    """The clock of a rank on that of another."""

    offsets: Floats  # to add to the rank's times in each step, shape (steps,), in their unit
    spread: float  # how far apart the same moments still are: median absolute deviation


def align(reference: Floats, ends: Floats) -> Alignment:
    """Find the offsets that bring the moments ``ends`` of a rank to those of another.

    Clocks may differ by anything, and drift: the offset of a step is the median difference of the
    ``WINDOW`` steps around it.

    Args:
        reference: the moments on the other rank, in the order of the steps, shape (m,).
        ends: the same moments on this rank, shape (n,); those after the m-th have no counterpart.
    """
    common = min(len(reference), len(ends))
    apart = np.asarray(reference[:common]) - np.asarray(ends[:common])
    windows = np.lib.stride_tricks.sliding_window_view(apart, min(WINDOW, common))
    level = np.median(windows, axis=1)  # those at both ends hold for the steps beyond them
    before = (common - len(level)) // 2
    offsets = np.pad(level, (before, len(ends) - len(level) - before), mode="edge")
    return Alignment(offsets, float(np.median(np.abs(apart - offsets[:common]))))
