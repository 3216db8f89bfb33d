"""A figure of the table: what was measured in turn with its floor, and what it should be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Any, Literal

Relation = Literal["ratio", "difference"]


@dataclass(frozen=True)
class Goal:
    """What a figure should be, at most or, with ``at_least``, at least."""

    limit: float
    at_least: bool = False
    of_measured: bool = False  # a limit of the measured value, and not of its relation to the floor

    def is_met(self, value: float) -> bool:
        """Whether a value is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Growth:
    """How the measured value grows with the size, between the two largest sizes."""

    sizes: tuple[float, ...]
    exponent: float  # 0: not at all; 1: in proportion; 2: with the square
    each: float  # what one more costs, in the unit of the figure


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    ``measured`` and ``floor`` have a value for each round, in the same unit; those of one round
    were measured one directly after the other. The floor is what the machine takes, or does,
    without the harness; a floor of one value is compared with all rounds.
    """

    name: str
    unit: str
    measured: tuple[float, ...]
    floor: tuple[float, ...]
    floor_name: str
    relation: Relation = "ratio"
    goal: Goal | None = None
    growth: Growth | None = None

    @property
    def relative(self) -> tuple[float, ...]:
        """The ratio of each round, or its difference; empty without a floor."""
        floors = self.floor * len(self.measured) if len(self.floor) == 1 else self.floor
        pairs = zip(self.measured, floors, strict=False)
        if self.relation == "difference":
            return tuple(mine - bare for mine, bare in pairs)
        return tuple(mine / bare if bare else math.nan for mine, bare in pairs)

    @property
    def misses(self) -> bool:
        """Whether the median misses the goal."""
        if self.goal is None:
            return False
        values = self.measured if self.goal.of_measured else self.relative
        return not self.goal.is_met(median(values))

    def record(self) -> dict[str, Any]:
        """The figure for JSON: all rounds, their medians and quartiles."""
        record: dict[str, Any] = {
            "name": self.name,
            "unit": self.unit,
            "relation": self.relation,
            "floor_name": self.floor_name,
            "measured": _summary(self.measured),
            "floor": _summary(self.floor),
            "relative": _summary(self.relative),
        }
        if self.goal is not None:
            record["goal"] = {**vars(self.goal), "missed": self.misses}
        if self.growth is not None:
            record["growth"] = vars(self.growth)
        return record


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile; of one value, that value."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def with_growth(figures: Sequence[Figure], sizes: Sequence[float]) -> list[Figure]:
    """The figures of several sizes, the smallest first; the last one tells how they grow."""
    if len(figures) < 2:
        return list(figures)
    before, last = (median(figure.measured) for figure in figures[-2:])
    small, large = sizes[-2:]
    exponent = math.nan
    if before > 0 and last > 0:
        exponent = math.log(last / before) / math.log(large / small)
    growth = Growth(tuple(sizes), exponent, (last - before) / (large - small))
    return [*figures[:-1], replace(figures[-1], growth=growth)]


def _summary(values: Sequence[float]) -> dict[str, Any]:
    if not values:
        return {}
    low, high = quartiles(values)
    return {"median": median(values), "quartiles": [low, high], "rounds": list(values)}
