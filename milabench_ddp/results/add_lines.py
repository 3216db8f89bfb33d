"""Adds the lines of a few shapes to a `Record`, many at once, as ``payload`` adds one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .columns import ToldNumbers
from .line_shapes import LineShape
from .observations import TOLD
from .records import Record
from .seen_lines import UNRANKED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Floats

    Places = NDArray[np.int_]


class LineGroup(Struct, frozen=True):
    """The lines of one shape among those that were read at once: at least one."""

    shape: LineShape
    places: "Places"  # ascending, shape (n,)
    columns: Mapping[str, "Floats"]  # shape (n,) each

    def between(self, first: int, end: int) -> "LineGroup":
        """The lines from one place on, and before another."""
        low, high = self.places.searchsorted((first, end))
        if high - low == len(self.places):
            return self
        columns = {name: values[low:high] for name, values in self.columns.items()}
        return LineGroup(self.shape, self.places[low:high], columns)

    def column(self, name: str, otherwise: float) -> "Floats":
        """What the lines tell under a name, or the same number for each."""
        from ..numerics import np

        if name in self.columns:
            return self.columns[name]
        return np.broadcast_to(np.array(otherwise), len(self.places))

    @property
    def measured(self) -> "Places":
        """The places of the lines that are not of the warm-up."""
        found: Places = self.places[self.column("warmup", 0.0) == 0]
        return found


def add_groups(record: Record, groups: Sequence[LineGroup]) -> "Places":
    """Add lines to a record; return the places of those that were written before."""
    from ..numerics import np

    groups = sorted((each for each in groups if len(each.places)), key=lambda each: each.places[0])
    training = [each for each in groups if each.shape.is_training]
    usable = np.sort(np.concatenate([np.empty(0, int), *(each.measured for each in training)]))
    _add_numbers(record, groups, usable)
    for group in groups:
        _count(record, group)
    losses = [(each.places, {"loss": each.columns["loss"]}) for each in groups if _has_loss(each)]
    if losses:
        record.losses.extend(_in_order(losses)[1]["loss"])
    if not training:
        return np.empty(0, int)
    places, columns = _in_order([(each.places, _rates(record, each)) for each in training])
    record.rates.extend(columns)
    return places[columns["repeated"] > 0]


def _has_loss(group: LineGroup) -> bool:
    return "loss" in group.columns


def _rates(record: Record, group: LineGroup) -> "dict[str, Floats]":
    """The columns of observations, and which of them were written before."""
    from ..numerics import np

    record.units = record.units or group.shape.units
    columns = {name: group.column(name, np.nan) for name in TOLD}
    columns["rate"] = group.columns["rate"]
    columns["rank"] = group.column("rank", record.own_rank or 0)
    columns["warmup"] = group.column("warmup", 0.0)
    columns["repeated"] = group.column("repeated", 0.0)
    if "step" in group.columns and "time" in group.columns:
        step, time = group.columns["step"], group.columns["time"]
        told = group.column("rank", UNRANKED)
        columns["repeated"] = record.lines.add_all(told, step, time, columns["rate"]).astype(float)
    return columns


def _count(record: Record, group: LineGroup) -> None:
    """Count the rates of lines, as ``RateCounts.add`` does those of one."""
    from ..numerics import np

    told, shape = record.told, group.shape
    if "rate" not in group.columns:
        return
    if not shape.is_training:
        told.untasked += len(group.places) * (shape.task is None)
        told.other_task += len(group.places) * (shape.task is not None)
        return
    measured = len(group.measured)
    told.warmup += len(group.places) - measured
    if not measured:
        return
    told.usable += measured
    if "rank" in group.columns:
        is_warmup = group.column("warmup", 0.0) != 0
        told.ranks |= set(map(int, np.unique(group.columns["rank"][~is_warmup])))
    elif record.own_rank is not None:
        told.ranks.add(record.own_rank)
    else:
        told.unranked += measured
    told.units |= {shape.units} - {""}


def _add_numbers(record: Record, groups: Sequence[LineGroup], usable: "Places") -> None:
    """Add the numbers that lines tell, by their names and ranks.

    Args:
        record: that of the file.
        groups: by their first places.
        usable: the places of the observations after the warm-up.
    """
    from ..numerics import np

    for name in dict.fromkeys(name for group in groups for name in group.shape.told):
        telling = [each for each in groups if name in each.columns and len(each.measured)]
        parts = []
        for group in telling:
            is_measured = group.column("warmup", 0.0) == 0
            value, rank = group.columns[name][is_measured], group.column("rank", 0.0)[is_measured]
            parts.append((group.measured, {"value": value, "rank": rank}))
        if not parts:
            continue
        places, columns = _in_order(parts)
        before = np.searchsorted(usable, places, side="right")
        seen = (record.told.usable + before).astype(float)
        is_whole = all(group.shape.numbers[name] for group in telling)
        by_rank = record.numbers.setdefault(name, {})
        for rank, chosen in _by_rank(columns["rank"]):
            numbers = by_rank.setdefault(rank, ToldNumbers())
            numbers.extend(columns["value"][chosen], seen[chosen], is_whole)


def _by_rank(ranks: "Floats") -> "Iterator[tuple[int, NDArray[np.bool_] | slice]]":
    """Each rank, by its first line, and which lines are its own."""
    from ..numerics import np

    if (ranks == ranks[0]).all():
        yield int(ranks[0]), slice(None)
        return
    for rank in ranks[np.sort(np.unique(ranks, return_index=True)[1])]:
        yield int(rank), ranks == rank


def _in_order(
    parts: "Sequence[tuple[Places, Mapping[str, Floats]]]",
) -> "tuple[Places, Mapping[str, Floats]]":
    """Columns of several groups of lines as one, in the order of the lines."""
    from ..numerics import np

    if len(parts) == 1:
        return parts[0]
    places = np.concatenate([places for places, _ in parts])
    order = np.argsort(places)
    joined = {}
    for name in parts[0][1]:
        joined[name] = np.concatenate([columns[name] for _, columns in parts])[order]
    return places[order], joined
