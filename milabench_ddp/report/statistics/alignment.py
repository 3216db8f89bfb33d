"""The time of one rank on the clock of another, by what ends on both at the same moment."""

from msgspec import Struct

from ...numerics import Floats, np

WINDOW = 21  # steps over which an offset is the median, so that one late rank does not move it


class Alignment(Struct, frozen=True):
    """The clock of a rank on that of another."""

    offsets: Floats  # to add to the rank's times in each step, shape (steps,), in their unit
    spread: float  # how far apart the same moments still are: median absolute deviation


def align(reference: Floats, ends: Floats) -> Alignment:
    """Find the offsets that bring the moments ``ends`` of a rank to those of another.

    Clocks may differ by anything, and drift: a line through the differences takes the drift, and
    what is left is the median over ``WINDOW`` steps.

    Args:
        reference: the moments on the other rank, in the order of the steps, shape (m,).
        ends: the same moments on this rank, shape (n,); those after the m-th have no counterpart.
    """
    common = min(len(reference), len(ends))
    steps = np.arange(len(ends), dtype=np.float64)
    apart = np.asarray(reference[:common]) - np.asarray(ends[:common])
    drift = _slope(apart)
    rest = apart - drift * steps[:common]
    windows = np.lib.stride_tricks.sliding_window_view(rest, min(WINDOW, common))
    level = np.median(windows, axis=1)  # those at both ends hold for the steps beyond them
    before = (common - len(level)) // 2
    level = np.pad(level, (before, len(ends) - len(level) - before), mode="edge")
    offsets = drift * steps + level
    return Alignment(offsets, float(np.median(np.abs(apart - offsets[:common]))))


def _slope(apart: Floats) -> float:
    """The slope by the medians of the first and the last third; 0 for less than three values."""
    third = len(apart) // 3
    if not third:
        return 0.0
    rise = float(np.median(apart[-third:]) - np.median(apart[:third]))
    return rise / (len(apart) - third)
