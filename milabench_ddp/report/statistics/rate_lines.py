"""The observations of a rank as columns: a value of each line, in arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from ...results.observations import Observations

if TYPE_CHECKING:
    from .values import Floats, Marks


class Lines(Struct, frozen=True, eq=False):
    """Observations of one rank in the order in which they were written, shape (n,) each."""

    rate: "Floats"
    steps: "Floats"  # NaN where a line does not tell it, as in the next three
    time: "Floats"
    elapsed: "Floats"
    arrived: "Floats"
    counts: "Marks"

    def __len__(self) -> int:
        return len(self.rate)

    def at(self, chosen: "Marks | slice") -> "Lines":
        """Some of the lines."""
        return Lines(*(column[chosen] for column in astuple(self)))


def lines_of(seen: Observations) -> dict[int, Lines]:
    """The observations of each rank, in the order of their numbers."""
    from ...numerics import np

    told = {name: column.values() for name, column in seen.told.items()}
    lines, ranks = (
        Lines(rate=seen.rates.floats(), counts=seen.counts(), **told),
        seen.ranks.values(),
    )
    if not len(lines):
        return {}
    if (ranks == ranks[0]).all():
        return {int(ranks[0]): lines}
    return {int(rank): lines.at(ranks == rank) for rank in np.unique(ranks)}


def joined(parts: Sequence[Lines]) -> Lines:
    """The lines of several files as those of one; at least one file."""
    from ...numerics import np

    if len(parts) == 1:
        return parts[0]
    return Lines(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))
