"""What the metric lines of a process tell of its rate: the one rule on which of them count.

A rate counts if it is a positive, finite number of the task ``train``, told after the warm-up. A
process without one has measured nothing, and fails. The verdict at the end of a process, that of
its launch, and the report's of a recorded run are all by ``why_nothing_measured``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeGuard

from msgspec import UNSET, Struct

from ..errors import shortened, shown_names
from ..events import NO_RATE, NO_USABLE_RATE
from ..metric_line import LARGEST, LARGEST_RANK, MetricLine
from ..numerics import Floats, Marks

OFTEN = 10  # times that a channel is opened: not once by a rank, but again and again
MEASURED = ("", "0", "false", "no", "none", "off")  # texts of `warmup` that mean none
KIND = ("task", "rank", "units", "warmup")  # what lines tell of their rate but its value
_kind = attrgetter(*KIND)
_SHOWN = 20  # characters of a rate that cannot be used


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value of a result file is a finite number, no larger than LARGEST."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST < value < LARGEST  # false for NaN, too, and right for an int of 400 digits


def are_rates(values: Floats) -> Marks:
    """Which can be rates: not negative, and neither absurdly large nor small; shape (n,)."""
    usable: Marks = (values == 0) | ((values > 1 / LARGEST) & (values < LARGEST))
    return usable


def training_rate(payload: Mapping[str, object]) -> object:
    """The training rate in a payload, whatever it is; ``UNSET`` if it has none.

    Older files have ``train_rate``.
    """
    if "rate" in payload and payload.get("task") == "train":
        return payload["rate"]
    return payload.get("train_rate", UNSET)


def is_rank(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < LARGEST_RANK  # not a bool


def is_warmup(said: object) -> bool:
    """Whether a line is of the warm-up: if its ``warmup`` says so, as ``true``, 1 or text."""
    return said.strip().lower() not in MEASURED if isinstance(said, str) else bool(said)


class RateCounts(Struct):
    """How many rates a process told, by what is wrong with them."""

    usable: int = 0
    unranked: int = 0  # of the usable ones: those that do not tell a rank
    warmup: int = 0
    unusable: int = 0  # not positive, not numbers, or too large or small for one
    untasked: int = 0  # of no task
    other_task: int = 0  # of another task than `train`
    first_unusable: str = ""
    ranks: set[int] = set()  # those that told a usable rate, and their rank
    units: set[str] = set()  # of the usable rates
    writers: set[int] = set()  # ranks that had the channel open, if several
    not_ranks: set[str] = set()  # told in place of a rank, such as text
    reopened: bool = False  # the channel was opened for each line: by whom is not known

    def add(
        self, payload: Mapping[str, object], own_rank: int | None = None, count: int = 1
    ) -> None:
        """Count the rates of a payload.

        Args:
            own_rank: the rank that the process is itself; None for a torchrun.
        """
        rate = training_rate(payload)
        if rate is UNSET and "rate" in payload and "task" in payload:
            self.other_task += count
        elif rate is UNSET and "rate" in payload:
            self.untasked += count
        elif rate is UNSET:
            return
        elif not (is_finite(rate) and rate > 1 / LARGEST):
            self.unusable += count
            self.first_unusable = self.first_unusable or str(rate)[:_SHOWN] or "empty"
        elif is_warmup(payload.get("warmup")):
            self.warmup += count
        else:
            self.usable += count
            rank = payload.get("rank")
            if is_rank(rank):
                self.ranks.add(rank)
            elif own_rank is not None:
                self.ranks.add(own_rank)
            else:
                self.unranked += count
                if rank is not None:
                    self.not_ranks.add(str(rank)[:_SHOWN])
            if isinstance(units := payload.get("units"), str) and units:
                self.units.add(units)

    def add_kinds(self, kinds: Counter[tuple[object, ...]], own_rank: int | None) -> None:
        """Count lines with usable rates by their ``KIND``, ``UNSET`` where they do not tell it."""
        for kind, count in kinds.items():
            told = zip(KIND, kind, strict=False)
            payload = {name: value for name, value in told if value is not UNSET}
            self.add({"rate": 1.0, **payload}, own_rank, count)

    def add_lines(self, lines: Sequence[MetricLine], own_rank: int | None = None) -> None:
        kinds: Counter[tuple[object, ...]] = Counter(
            map(_kind, [line for line in lines if line.rate is not UNSET])
        )
        self.add_kinds(kinds, own_rank)

    def see_writers(self, ranks: set[int], opened: int) -> None:
        """Take note of the ranks that were seen to have the channel open, and how often it was."""
        self.writers = ranks if len(ranks) > 1 else set()
        self.reopened = not self.writers and opened >= OFTEN

    @property
    def flaws(self) -> str:
        said = []
        if self.unusable:
            first = self.first_unusable
            said.append(f"{self.unusable} not usable (the first is {first})")
        if self.untasked:
            said.append(f'{self.untasked} without "task": "train"')
        return "; ".join(said)


def why_nothing_measured(processes: Iterable[RateCounts]) -> str:
    """Why no rate can be made of what the processes of a job told; empty if one can."""
    counts = list(processes)
    if not any(each.usable for each in counts):
        return next(filter(None, map(_why_none_usable, counts)), NO_RATE)
    return _why_not_one_rate([each for each in counts if each.usable])


def _why_none_usable(told: RateCounts) -> str:
    said = [told.flaws] if told.flaws else []
    if told.other_task:
        said.append(f"{told.other_task} of other tasks than `train`")
    if told.warmup:
        said.append(f"{told.warmup} of the warm-up")
    return f"{NO_USABLE_RATE}: {'; '.join(said)}" if said else ""


def _why_not_one_rate(counts: list[RateCounts]) -> str:
    """Why the rates are not those of one rank, or a sum over ranks; empty if they are."""
    units = sorted(set().union(*(each.units for each in counts)))
    if len(units) > 1:
        said = shown_names([shortened(unit, 60) for unit in units], 5)
        return f"its rates have several units, so they have no mean: {said}"
    unranked = [each for each in counts if each.unranked]
    ranks = set().union(*(each.ranks for each in counts))
    if not unranked:
        return ""
    writers = set().union(*(each.writers for each in counts))
    not_ranks = set().union(*(each.not_ranks for each in counts))
    if len(unranked) > 1:
        who = f"its processes on {len(unranked)} nodes tell rates"
    elif ranks - {0} or len(not_ranks) + len(ranks) > 1:
        who = "several of its ranks tell rates"
    elif len(writers) > 1:
        who = f"{len(writers)} of its ranks had the file of $MILABENCH_METRICS open"
    else:
        return ""
    lines = sum(each.unranked for each in unranked)
    return (
        f"{who}, and {lines} lines do not tell their `rank` as a whole number, so the rates can be "
        f"neither summed nor averaged: add the rank to each line, or let one rank alone write them"
    )
