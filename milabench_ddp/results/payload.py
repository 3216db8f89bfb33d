"""Adds the payloads of metric lines to a `Record`, those of many lines at once."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import compress
from math import inf, nan
from typing import Any

from msgspec import UNSET

from ..grouping import grouped
from ..metric_line import LARGEST
from ..numerics import Counts, Floats, Marks, np
from .columns import MetricColumn, doubles
from .defects import DefectKind
from .rates import are_rates, is_rank, is_warmup, training_rate
from .records import FACTS, Payload, Record
from .special_keys import SPECIAL, WITHOUT_NUMBERS, add_special

OF_RATES = frozenset({"rank", "step", "steps", "time", "elapsed", "arrived", "task", "units"})
"""Read with the rates, from their lines."""
NOT_NUMBERS = WITHOUT_NUMBERS | {"rate", "train_rate", "warmup", "first_bucket"}
NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")  # as texts, too: JSON has none

Flaw = tuple[DefectKind, Sequence[int]]
"""A kind of defect, and the places of the payloads that have it, which may be none."""


MIX = 0xFF51AFD7ED558CCD  # of A. Appleby's MurmurHash3


class RepeatedLines:
    """The lines of a file so far that tell a rate, their step and their time.

    Two are the same if their rank, step, time and rate are equal. Of each a number of 64 bits is
    kept, a hash of these four. Two of 10 million lines that differ have the same one in 3 of a
    million runs; a rate would then be left out as written twice.
    """

    def __init__(self) -> None:
        # of lines that came together: their hashes, and their first and last times
        self._blocks: list[tuple[Any, float, float]] = []
        self._latest = -inf  # time

    def add(self, rank: Floats, step: Floats, time: Floats, rate: Floats) -> Marks:
        """Add at least one line, shape (n,); return which of them were written before."""
        hashes = np.zeros(len(time), np.uint64)
        for column in (rank, step, time + 0.0, rate):
            hashes ^= np.ascontiguousarray(column, float).view(np.uint64)
            hashes *= np.uint64(MIX)
            hashes ^= hashes >> np.uint64(32)
        again = np.zeros(len(time), bool)
        low, high = float(time.min()), float(time.max())
        if not (time[0] > self._latest and (np.diff(time) > 0).all()):
            again[:] = True
            again[np.unique(hashes, return_index=True)[1]] = False
            for known, first, last in self._blocks:
                if first <= high and low <= last:
                    again |= np.isin(hashes, known)
        if not again.all():
            self._blocks.append((hashes[~again], low, high))
        self._latest = max(self._latest, high)
        return again


class PayloadReader:
    """Adds payloads to a record; a damaged part is left out, and is a flaw."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lines = RepeatedLines()

    def add(self, payloads: Sequence[Payload]) -> Iterator[Flaw]:
        told: dict[str, dict[int, Any]] = defaultdict(dict)  # by name and place
        for place, payload in enumerate(payloads):
            for name, value in payload.items():
                if name not in OF_RATES:
                    told[name][place] = value
        rated = told.get("rate", {}).keys() | told.get("train_rate", {}).keys()
        seen = yield from self._add_rates(payloads, sorted(rated))
        if "loss" in told:
            self._record.losses.extend(list(told["loss"].values()))
        for place in sorted({place for name in SPECIAL.intersection(told) for place in told[name]}):
            for kind in add_special(self._record, payloads[place]):
                yield kind, [place]
        ranks = _ranks(_column(payloads, "rank"), 0)
        warm = [place for place, said in told.get("warmup", {}).items() if is_warmup(said)]
        for name, values in told.items():
            if name not in NOT_NUMBERS:
                for place in warm:
                    values.pop(place, None)
                self._add_named(name, values, ranks, seen)

    def _add_rates(
        self, payloads: Sequence[Payload], places: Sequence[int]
    ) -> Generator[Flaw, None, Floats]:
        """Add the training rates; return how many usable ones there are up to each payload."""
        before = self._record.told.usable
        usable = np.zeros(len(payloads))
        rates, there = [], []
        for place in places:
            rate = training_rate(payloads[place])
            if rate is UNSET:
                self._record.told.add(payloads[place])
            else:
                rates.append(rate)
                there.append(place)
        if there:
            lines = [payloads[place] for place in there]
            usable[there] = yield from self._add_observations(rates, lines, np.array(there))
        return before + np.cumsum(usable)

    def _add_observations(
        self,
        rates: Sequence[object],
        payloads: Sequence[Payload],
        places: Counts,
    ) -> Generator[Flaw, None, Marks]:
        """Add rates, and what their lines tell; return which are usable and after the warm-up."""
        record = self._record
        columns = {}
        for name in ("steps", "step", "time", "elapsed", "arrived"):
            values = np.array(doubles(_column(payloads, name))[0])
            columns[name] = np.where(np.abs(values) < LARGEST, values, nan)
        numbers, odd = doubles(rates)
        rate = columns["rate"] = np.array(numbers)
        ranks, units = _column(payloads, "rank"), _column(payloads, "units")
        warmup = _column(payloads, "warmup")
        columns["rank"] = np.array(_ranks(ranks, record.own_rank or 0), float)
        columns["warmup"] = np.array(_warmups(warmup), float)
        steps, is_usable = columns["steps"], are_rates(rate)
        is_count = (steps > 0) & (steps == np.floor(steps))
        columns["steps"] = np.where(is_count, steps, nan)
        if not is_count.all():
            is_told = np.array([payload.get("steps") is not None for payload in payloads])
            yield DefectKind.BAD_STEP_COUNT, places[is_told & ~is_count].tolist()
        step, time = columns["step"], columns["time"]
        repeated = columns["repeated"] = np.zeros(len(rate))
        known = np.isfinite(step) & np.isfinite(time) & (np.abs(rate) < LARGEST)
        if known.any():
            told = (columns[name][known] for name in ("rank", "step", "time", "rate"))
            repeated[known] = self._lines.add(*told)
        yield DefectKind.REPEATED_RATE, places[repeated != 0].tolist()
        yield DefectKind.BAD_RATE, places[~is_usable].tolist()
        record.rates.add(columns, odd)
        texts = (text for text in units if text and isinstance(text, str))
        record.units = record.units or next(texts, "")
        is_positive = counted_together = is_usable & (rate > 0)
        # true is equal to 1, but is no rank
        kinds = zip(["train"] * len(rates), ranks, units, warmup, map(type, ranks), strict=True)
        try:
            record.told.add_kinds(Counter(compress(kinds, is_positive.tolist())), record.own_rank)
        except TypeError:  # a list or an object in the place of a text or a number
            counted_together = np.zeros_like(is_positive)
        for place in (~counted_together).nonzero()[0].tolist():
            record.told.add(payloads[place], record.own_rank)
        counted: Marks = is_positive & (columns["warmup"] == 0)
        return counted

    def _add_named(
        self, name: str, values: Mapping[int, object], ranks: Sequence[int], seen: Floats
    ) -> None:
        """Add what lines told under a name: a number each, or a group of numbers by their names.

        Numbers in a group of ``FACTS`` keep their names; in another group they are ``group.name``.
        """
        self._add_numbers(name, values, ranks, seen)
        groups: dict[str, dict[int, Any]] = defaultdict(dict)
        for place, value in values.items():
            if isinstance(value, dict):
                for inner, each in value.items():
                    groups[inner][place] = each
        for inner, told in groups.items():
            self._add_numbers(inner if name in FACTS else f"{name}.{inner}", told, ranks, seen)

    def _add_numbers(
        self, name: str, told: Mapping[int, object], ranks: Sequence[int], seen: Floats
    ) -> None:
        is_number = np.abs(np.array(doubles(list(told.values()))[0])) < LARGEST
        for value in compress(told.values(), (~is_number).tolist()):
            if isinstance(value, float | str) and str(value).lower() in NOT_FINITE:
                self._record.not_finite.setdefault(name, Counter())[str(value)] += 1
        by_rank = grouped((ranks[place], place) for place in compress(told, is_number.tolist()))
        for rank, places in by_rank.items():
            metric = self._record.numbers.setdefault(name, {}).setdefault(rank, MetricColumn())
            metric.numbers.extend([told[place] for place in places])
            metric.seen.add(seen[places])


def _column(payloads: Sequence[Payload], name: str) -> list[object]:
    return [payload.get(name, UNSET) for payload in payloads]


def _ranks(told: Sequence[Any], otherwise: int) -> Sequence[int]:
    if set(map(type, told)) == {int} and is_rank(min(told)) and is_rank(max(told)):
        return told
    return [rank if is_rank(rank) else otherwise for rank in told]


def _warmups(told: Sequence[object]) -> Sequence[bool]:
    return list(map(is_warmup, told)) if any(told) else [False] * len(told)
