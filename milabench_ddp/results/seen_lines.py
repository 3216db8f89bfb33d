"""Which metric lines were written twice: those of the same rank, step, time and rate.

Of each line a number of 64 bits is kept, a hash of these four. Two of 10 million lines that differ
have the same one in 3 of a million runs; a rate would then be left out as written twice.
"""

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Floats

    Marks = NDArray[np.bool_]
    Hashes = NDArray[np.uint64]

UNRANKED = -0.5
_MIX = 0xFF51AFD7ED558CCD  # of A. Appleby's MurmurHash3
_ALL = 2**64 - 1


class SeenLines:
    """The lines of a file so far that tell a rate, their step and their time."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()  # of lines that came one by one
        # of lines that came together: their hashes, and their first and last times
        self._blocks: list[tuple[Hashes, float, float]] = []
        self._latest = -math.inf  # time

    def add(self, rank: float, step: float, time: float, rate: float) -> bool:
        """Add a line; return whether it was written before."""
        hashed = 0
        for bits in struct.unpack("<4Q", struct.pack("<4d", rank, step, time + 0.0, rate)):
            hashed = ((hashed ^ bits) * _MIX) & _ALL
            hashed ^= hashed >> 32
        if hashed in self._hashes:
            return True
        for hashes, first, last in self._blocks:
            if first <= time <= last and (hashes == hashed).any():
                return True
        self._hashes.add(hashed)
        self._latest = max(self._latest, time)
        return False

    def add_all(self, rank: "Floats", step: "Floats", time: "Floats", rate: "Floats") -> "Marks":
        """Add lines, shape (n,); return which of them were written before."""
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
            if self._hashes:
                again |= np.isin(hashes, np.array(list(self._hashes), np.uint64))
        if not again.all():
            self._blocks.append((hashes[~again], low, high))
        self._latest = max(self._latest, high)
        return again
