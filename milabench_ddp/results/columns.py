"""The numbers of many metric lines, as columns: 10 million of them are 80 MB, and not 1.4 GB.

Most columns need no memory at all: a rank, or the number of steps of a line, is the same in all of
them, and the number of a step rises by the same in each.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from .rates import LARGEST, is_finite, is_rate

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
        self._first, self._slope, self._count = math.nan, 0.0, 0
        # None as long as they are ``first + slope * k``
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
        import numpy as np

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
        import numpy as np

        if self._own is not None:
            return np.frombuffer(self._own)
        if not self._slope:
            return np.broadcast_to(np.array(self._first), self._count)
        return self._first + self._slope * np.arange(self._count, dtype=np.float64)


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)


class LazySequence(Sequence[T], Generic[T]):
    """A sequence of what lines told, whose items are made when they are asked for."""

    def __len__(self) -> int:
        raise NotImplementedError

    def item(self, place: int) -> T:
        """What the line at a place told, from 0."""
        raise NotImplementedError

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

    def __init__(self, values: Iterable[object] = ()) -> None:
        self._column = Doubles()
        self._odd: dict[int, object] = {}  # what is not a float, by its place
        for value in values:
            self.append(value)

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
        import numpy as np

        return bool(np.isnan(self._column.values()).any())

    def floats(self) -> "Floats":
        """The numbers, shape (n,); NaN also in the place of what is none."""
        values = self._column.values()
        if self._odd:
            values = values.copy()
            values[list(self._odd)] = math.nan
        return values


class Observation(NamedTuple):
    """An observation of the training rate, as it was written."""

    rate: Any  # units per second; in a damaged file, any JSON value
    steps: int | None = None  # how many steps it covers; milabench does not say
    warmup: bool = False
    rank: int = 0  # whose rate it is; 0 if it is not told
    time: Any = None  # when the program wrote it, in seconds since the epoch, as it says
    elapsed: Any = None  # milabench: its duration in seconds; ours: since the loop began
    arrived: Any = None  # when the supervisor read it, in seconds since the epoch
    repeated: bool = False  # the same line was written before

    @property
    def counts(self) -> bool:
        """Whether it counts: not as warm-up, not written twice, and with a usable rate."""
        return not self.warmup and not self.repeated and is_rate(self.rate)


TOLD = ("steps", "time", "elapsed", "arrived")  # by a line with a rate, if it tells them


class Observations(LazySequence[Observation]):
    """The observations of a file, in the order in which they were written."""

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        self.rates = Numbers()
        self.told = {name: Doubles() for name in TOLD}
        self.ranks = Doubles()
        self.warmup = Doubles()  # 1 in those of the warm-up, else 0
        self.repeated = Doubles()
        for observation in observations:
            self.append(observation)

    def __len__(self) -> int:
        return len(self.rates)

    def item(self, place: int) -> Observation:
        """One observation."""
        known = [column[place] for column in self.told.values()]
        steps, time, elapsed, arrived = [None if math.isnan(each) else each for each in known]
        return Observation(
            self.rates[place],
            None if steps is None else int(steps),
            bool(self.warmup[place]),
            int(self.ranks[place]),
            time,
            elapsed,
            arrived,
            bool(self.repeated[place]),
        )

    def counts(self) -> "Marks":
        """Which observations count, shape (n,)."""
        rates = self.rates.floats()
        is_usable: Marks = (rates == 0) | ((rates > 1 / LARGEST) & (rates < LARGEST))
        is_usable &= (self.warmup.values() == 0) & (self.repeated.values() == 0)
        return is_usable

    def append(self, seen: Observation) -> None:
        """Add an observation."""
        self.rates.append(seen.rate)
        for name, column in self.told.items():
            value = getattr(seen, name)
            column.append(float(value) if is_finite(value) else math.nan)
        self.ranks.append(float(seen.rank))
        self.warmup.append(float(seen.warmup))
        self.repeated.append(float(seen.repeated))

    def extend(self, columns: "Mapping[str, Floats]") -> None:
        """Add observations by the names of their fields, shape (n,) each; 1 is true, 0 false."""
        self.rates.extend(columns["rate"])
        for name, column in self.told.items():
            column.extend(columns[name])
        self.ranks.extend(columns["rank"])
        self.warmup.extend(columns["warmup"])
        self.repeated.extend(columns["repeated"])


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
