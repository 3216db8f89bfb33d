"""The pauses of a series of step times: steps that are far longer than those around them.

A pause is longer than the level around it by more than chance makes a step (``is_far``), and than
its neighbours on both sides: load that stays for longer is no pause. Several such steps in a row
are one pause.
"""

from msgspec import Struct

from ...numerics import Counts, Floats, np
from .values import is_far

BLOCK, FEWEST_BLOCKS = 64, 3  # steps that share a level, and blocks of a short series
BESIDE = 4  # neighbours on each side


class Pauses(Struct, frozen=True):
    """The pauses of a series: the place of each in it, in ascending order."""

    at: Counts
    length: int  # places of the series

    @property
    def density(self) -> float:
        return len(self.at) / self.length


def pauses_of(times: Floats) -> Pauses:
    """The pauses of a series of at least one step, in the order of time."""
    excess, level = excess_of(times), float(np.median(times))
    steps = np.flatnonzero(is_far(excess, level) & (excess > 0))
    if len(steps):
        beside = np.array([k for k in range(-BESIDE, BESIDE + 1) if k])
        near = np.abs(steps[:, None] + beside)  # at the ends, those on the other side
        near = np.where(near < len(times), near, 2 * (len(times) - 1) - near)
        excess[steps] -= np.maximum(np.median(excess[near], axis=1), 0.0)
        steps = np.flatnonzero(is_far(excess, level) & (excess > 0))
    return Pauses(steps[np.diff(steps, prepend=-2) > 1], len(times))


def excess_of(times: Floats) -> Floats:
    """By how much each step is longer than the level around it.

    The level goes in lines between the medians of blocks of steps.
    """
    count = len(times)
    blocks = max(count // BLOCK, min(FEWEST_BLOCKS, count // 16), 1)
    size = count // blocks
    size -= size % 2 if size > 1 else 0  # of two levels in turn, the median is in the middle
    blocks = count // size
    medians = np.median(times[: blocks * size].reshape(blocks, size), axis=1)
    centres = size * np.arange(blocks) + (size - 1) / 2
    return times - np.interp(np.arange(count), centres, medians)
