"""The numbers of many metric lines, as columns of doubles.

A column whose numbers are all equal takes no memory, and of a large run the others are in a file
without a name: so the memory of a report hardly grows with the number of lines.
"""

import errno
import os
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import nan
from typing import IO, TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType, field

from ..numerics import Floats, np

if TYPE_CHECKING:
    Doubles = array[float]
else:
    Doubles = array  # Python 3.11 knows no other name for it as it runs

SHORT = 1 << 13  # numbers: a column of so few stays in memory
HUGE = 2**1000  # a larger whole number is no double
WORD = 8  # bytes of a double
NOTHING: Mapping[int, object] = {}


def doubles(told: Sequence[Any]) -> tuple[Doubles, dict[int, object]]:
    """What lines told as doubles; NaN where it is no number, or is too large for one.

    What is NaN so is also returned as it was told, by its place, but where nothing was told.
    """
    kinds = set(map(type, told))
    if UnsetType in kinds:
        told = [nan if value is UNSET else value for value in told]
        kinds -= {UnsetType}
    if kinds <= {float, int}:
        with suppress(OverflowError):  # a whole number of 400 digits
            return array("d", told), {}
    odd = {place: value for place, value in enumerate(told) if not _is_double(value)}
    return array("d", [nan if k in odd else value for k, value in enumerate(told)]), odd


def _is_double(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < HUGE)


class Scratch:
    """A file without a name, for columns that would fill the memory; it ends with the last one."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0  # bytes

    def add(self, numbers: Doubles) -> int:
        """Write numbers; return where they begin, in bytes.

        Raises:
            OSError: the file cannot be written.
        """
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        begin = self._size
        self._size += os.pwrite(self._file.fileno(), numbers, begin)
        if self._size - begin < WORD * len(numbers):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return begin

    def read(self, begin: int, count: int) -> Floats:
        """The numbers that begin at a place, shape (n,)."""
        assert self._file is not None
        return np.frombuffer(os.pread(self._file.fileno(), WORD * count, begin))


class NumberColumn:
    """Numbers in the order of their lines; NaN in the place of what is none."""

    def __init__(self) -> None:
        self.odd: dict[int, object] = {}  # by place: what is no number, as it was told
        self.is_whole = True  # all were written as whole numbers
        self._count = 0
        self._equal = nan  # each of them, while they have no array of their own
        self._own: Doubles | None = None
        self._scratch: tuple[Scratch, int] | None = None  # the file, and where they begin in it

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> float:
        value = float(self.values()[place])
        return int(value) if self.is_whole else value

    def __iter__(self) -> Iterator[object]:
        for place, value in enumerate(self.values().tolist()):
            yield self.odd.get(place, value)

    @property
    def has_nan(self) -> bool:
        return any(place not in self.odd for place in np.isnan(self.values()).nonzero()[0].tolist())

    def extend(self, told: Sequence[object]) -> None:
        self.is_whole = self.is_whole and set(map(type, told)) <= {int}
        self.add(*doubles(told))

    def add(self, values: Doubles | Floats, odd: Mapping[int, object] = NOTHING) -> None:
        """Add numbers, and what was told instead of them, by its place among these."""
        self.odd |= {self._count + place: value for place, value in odd.items()}
        if not self._count and len(values):
            self._equal = float(values[0])
        added = values.tobytes()
        if self._own is None:
            equal = array("d", [self._equal])
            if added != equal.tobytes() * len(values):
                self._own = equal * self._count
        if self._own is not None:
            self._own.frombytes(added)
        self._count += len(values)

    def move_to(self, scratch: Scratch, longest: int = SHORT) -> None:
        """Keep the numbers in a file, if they are more than ``longest``; no more may be added.

        Raises:
            OSError: the file cannot be written; the numbers are still in memory.
        """
        if self._own is not None and self._count > longest:
            self._scratch = scratch, scratch.add(self._own)
            self._own = None

    def values(self) -> Floats:
        """The numbers, shape (n,); to be read alone, and not beyond the next change."""
        if self._scratch is not None:
            scratch, begin = self._scratch
            return scratch.read(begin, self._count)
        if self._own is not None:
            return np.frombuffer(self._own)
        return np.broadcast_to(np.array(self._equal), self._count)


class MetricColumn(Struct):
    """What a rank told under one name, in the order in which it was written."""

    numbers: NumberColumn = field(default_factory=NumberColumn)
    # of each: how many observations after the warm-up came before it in the file
    seen: NumberColumn = field(default_factory=NumberColumn)
