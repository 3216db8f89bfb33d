"""The observations of the training rate in result files, as columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from ..numerics import Floats, Marks, np
from .columns import NOTHING, NumberColumn
from .rates import are_rates


class RateColumns(Struct, frozen=True, eq=False):
    """Observations in the order in which they were written, shape (n,) each."""

    rate: Floats  # units per second; NaN where it is not a number
    steps: Floats  # how many it covers; NaN where a line does not tell it, as in the next three
    time: Floats  # when the program wrote it, in seconds since the epoch, as it says
    elapsed: Floats  # milabench: its duration in seconds; ours: since the loop began
    arrived: Floats  # when the supervisor read it, in seconds since the epoch
    rank: Floats  # whose rate it is; 0 if it is not told
    warmup: Marks
    repeated: Marks  # the same line was written before
    counts: Marks  # not as warm-up, not written twice, and with a usable rate

    def __len__(self) -> int:
        return len(self.rate)

    def at(self, chosen: Marks | slice) -> "RateColumns":
        return RateColumns(*(column[chosen] for column in astuple(self)))

    def by_rank(self) -> "dict[int, RateColumns]":
        if not len(self):
            return {}
        if (self.rank == self.rank[0]).all():
            return {int(self.rank[0]): self}
        return {int(rank): self.at(self.rank == rank) for rank in np.unique(self.rank)}

    @classmethod
    def none(cls) -> "RateColumns":
        return Rates().load()


def joined(parts: Sequence[RateColumns]) -> RateColumns:
    """The observations of several files as those of one; at least one file."""
    if len(parts) == 1:
        return parts[0]
    return RateColumns(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))


class Rates:
    """The observations of a file as they are kept; ``counts`` follows from the other columns."""

    def __init__(self) -> None:
        self.columns = {name: NumberColumn() for name in RateColumns.__struct_fields__[:-1]}

    def __len__(self) -> int:
        return len(self.rate)

    @property
    def rate(self) -> NumberColumn:
        return self.columns["rate"]

    def add(self, columns: Mapping[str, Floats], odd: Mapping[int, object]) -> None:
        for name, column in self.columns.items():
            column.add(columns[name], odd if name == "rate" else NOTHING)

    def load(self) -> RateColumns:
        told: dict[str, Any] = {name: each.values() for name, each in self.columns.items()}
        told["repeated"] = told["repeated"] != 0
        told["warmup"] = told["warmup"] != 0
        counts = are_rates(told["rate"]) & ~told["warmup"] & ~told["repeated"]
        return RateColumns(**told, counts=counts)
