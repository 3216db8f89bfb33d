"""Which metric lines were written twice: those of the same rank, step, time and rate.

Of each line a number of 64 bits is kept, a hash of these four. Two of 10 million lines that differ
have the same one in 3 of a million runs; a rate would then be left out as written twice.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Floats, Marks

    Hashes = NDArray[np.uint64]

_MIX = 0xFF51AFD7ED558CCD  # of A. Appleby's MurmurHash3


class RepeatedLines:
    """The lines of a file so far that tell a rate, their step and their time."""

    def __init__(self) -> None:
        # of lines that came together: their hashes, and their first and last times
        self._blocks: list[tuple[Hashes, float, float]] = []
        self._latest = -math.inf  # time

    def add(self, rank: "Floats", step: "Floats", time: "Floats", rate: "Floats") -> "Marks":
        """Add at least one line, shape (n,); return which of them were written before."""
        from ..numerics import np

        hashes = np.zeros(len(time), np.uint64)
        for column in (rank, step, time + 0.0, rate):
            hashes ^= np.ascontiguousarray(column, float).view(np.uint64)
            hashes *= np.uint64(_MIX)
            hashes ^= hashes >> np.uint64(32)
        again = np.zeros(len(time), bool)
        low, high = float(time.min()), float(time.max())
        if not (time[0] > self._latest and (np.diff(time) > 0).all()):
            again[:] = True
            again[np.unique(hashes, return_index=True)[1]] = False
            for known, first, last in self._blocks:
                if first <= high and low <= last:
                    again |= np.isin(hashes, known)
        if not again.all():
            self._blocks.append((hashes[~again], low, high))
        self._latest = max(self._latest, high)
        return again
