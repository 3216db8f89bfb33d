"""The observations of the training rate in a result file, as columns."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..metric_line import LARGEST
from .columns import Doubles, LazySequence, Numbers
from .rates import is_finite, is_rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Floats

    Marks = NDArray[np.bool_]


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
