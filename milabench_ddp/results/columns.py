"""The numbers of many metric lines, as columns: 10 million of them are 80 MB, and not 1.4 GB.

Most columns need no memory at all: a rank, or the number of steps of a line, is the same in all of
them, and the number of a step rises by the same in each.
"""

import math
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Marks = NDArray[np.bool_]

T = TypeVar("T")
EXACT = 2**53  # each whole number up to it is a double


class Doubles:
    """Doubles, in the order of the lines; NaN where a line does not tell the number."""

    __slots__ = ("_count", "_first", "_own", "_slope")

    def __init__(self) -> None:
        # they are ``first + slope * k`` as long as they have no numbers of their own
        self._first, self._slope, self._count = math.nan, 0.0, 0
        self._own: array[float] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> float:
        if self._own is not None:
            return self._own[place]
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return self._first + self._slope * (place % self._count)

    def append(self, value: float) -> None:
        """Add one number."""
        if self._own is None:
            if not self._count:
                self._first = value
            elif self._count == 1 and math.isfinite(value - self._first):
                self._slope = value - self._first
            if not _same(value, self._first + self._slope * self._count):
                self._own = array("d", self.values().tobytes())
        if self._own is not None:
            self._own.append(value)
        self._count += 1

    def extend(self, values: "Floats") -> None:
        """Add numbers, shape (n,)."""
        from ..numerics import np

        if self._own is None and len(values) and self._count < 2:
            for value in values[: 2 - self._count].tolist():
                self.append(value)
                values = values[1:]
        if self._own is None:
            place = np.arange(self._count, self._count + len(values))
            if not np.array_equal(values, self._first + self._slope * place, equal_nan=True):
                self._own = array("d", self.values().tobytes())
        if self._own is not None:
            self._own.frombytes(values.tobytes())
        self._count += len(values)

    def values(self) -> "Floats":
        """All numbers, shape (n,); to be read alone, and not beyond the next change."""
        from ..numerics import np

        if self._own is not None:
            return np.frombuffer(self._own)
        if not self._slope:
            return np.broadcast_to(np.array(self._first), self._count)
        return self._first + self._slope * np.arange(self._count, dtype=np.float64)


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)


class LazySequence(Sequence[T], Generic[T]):
    """A sequence of what lines told, whose items are made when they are asked for."""

    @abstractmethod
    def item(self, place: int) -> T:
        """What the line at a place told, from 0."""

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self.item(k) for k in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self.item(place % len(self))

    def __iter__(self) -> Iterator[T]:
        return map(self.item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class Numbers(LazySequence[Any]):
    """Numbers in the order of their lines; what is no number stays as it was written."""

    def __init__(self) -> None:
        self._column = Doubles()
        self._odd: dict[int, object] = {}  # values that are not floats, by their places

    def __len__(self) -> int:
        return len(self._column)

    def item(self, place: int) -> Any:
        """The number, or what stood in its place."""
        return self._odd[place] if place in self._odd else self._column[place]

    def append(self, value: object) -> None:
        """Add what a line told, whatever it is."""
        if isinstance(value, float):
            self._column.append(value)
            return
        is_exact = type(value) is int and abs(value) <= EXACT
        if not is_exact:
            self._odd[len(self)] = value
        self._column.append(float(value) if is_exact else 0.0)  # type: ignore[arg-type]

    def extend(self, values: "Floats") -> None:
        """Add numbers, shape (n,)."""
        self._column.extend(values)

    @property
    def odd(self) -> Sequence[object]:
        """What is not a number, or one that no double can hold."""
        return list(self._odd.values())

    @property
    def has_nan(self) -> bool:
        """Whether a number is NaN."""
        from ..numerics import np

        return bool(np.isnan(self._column.values()).any())

    def floats(self) -> "Floats":
        """The numbers, shape (n,); NaN also in the place of what is none."""
        values = self._column.values()
        if self._odd:
            values = values.copy()
            values[list(self._odd)] = math.nan
        return values


class ToldNumber(NamedTuple):
    """A number in a metric line, and its place among the observations of the same file."""

    value: float
    seen: int  # how many observations after the warm-up came before it


class ToldNumbers(LazySequence[ToldNumber]):
    """What a rank told under one name, in the order in which it was written."""

    def __init__(self) -> None:
        self._column = Doubles()
        self.seen = Doubles()
        self._exact: dict[int, int] = {}  # whole numbers that no double can hold, by their place
        self._is_whole = True  # all were written as whole numbers

    def __len__(self) -> int:
        return len(self._column)

    def item(self, place: int) -> ToldNumber:
        """One number; a whole one, unless others are not."""
        value = self._exact.get(place, self._column[place])
        return ToldNumber(int(value) if self._is_whole else value, int(self.seen[place]))

    def append(self, value: float, seen: int) -> None:
        """Add a number."""
        if not isinstance(value, int):
            self._is_whole = False
        elif abs(value) > EXACT:
            self._exact[len(self)] = value
        self._column.append(float(value))
        self.seen.append(float(seen))

    def extend(self, values: "Floats", seen: "Floats", is_whole: bool) -> None:
        """Add numbers, shape (n,); ``is_whole`` says whether they were written as whole ones."""
        self._is_whole = self._is_whole and is_whole
        self._column.extend(values)
        self.seen.extend(seen)

    def values(self) -> "Floats":
        """The numbers, shape (n,)."""
        return self._column.values()
