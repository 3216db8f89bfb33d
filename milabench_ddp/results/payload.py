"""Adds the payloads of metric lines to a `Record`, those of many lines at once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress
from math import nan
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, field

from ..metric_line import LARGEST
from .columns import Metric, doubles, not_doubles
from .defects import DefectKind
from .rates import KIND, are_rates, is_rank, is_warmup, training_rate
from .records import FACTS, Payload, Record
from .repeated_lines import RepeatedLines
from .special_keys import SPECIAL, WITHOUT_NUMBERS, add_special

if TYPE_CHECKING:
    from .columns import Floats, Marks

NOT_NUMBERS = WITHOUT_NUMBERS | {
    # counts, dates and texts
    *("rank", "rate", "train_rate", "step", "steps", "time", "elapsed", "arrived", "warmup"),
    *("first_bucket", "task", "units"),
}
RATES = frozenset({"rate", "train_rate"})
TOLD_OF_RATES = (*RATES, "steps", "step", "time", "elapsed", "arrived", *KIND)
NOT_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")  # as texts, too: JSON has none

ReportDefects = Callable[[DefectKind, Sequence[int]], None]
"""Takes a kind of defect, and the places of the payloads that have it."""


class Payloads(Struct):
    """Payloads with the same keys, among lines that were read together."""

    keys: tuple[str, ...]
    places: list[int] = field(default_factory=list)  # among the lines, ascending
    payloads: list[Payload] = field(default_factory=list)

    def column(self, name: str) -> list[Any]:
        """What they tell under a name; ``UNSET`` if that is none of the keys."""
        if self.payloads and name in self.payloads[0]:  # one may have 100,000 keys
            return [data[name] for data in self.payloads]
        return [UNSET] * len(self.places)

    def measured(self) -> "Payloads":
        """Those that are not of the warm-up."""
        if "warmup" not in self.keys:
            return self
        keep = [not is_warmup(told) for told in self.column("warmup")]
        return Payloads(
            self.keys, list(compress(self.places, keep)), list(compress(self.payloads, keep))
        )


class PayloadReader:
    """Adds payloads to a record; a damaged part is left out and reported as a defect."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lines = RepeatedLines()

    def add(self, groups: Sequence[Payloads], report: ReportDefects) -> None:
        """Add the payloads of lines that were read together, by their keys."""
        seen = self._add_rates(groups, report)
        telling = [group for group in groups if "loss" in group.keys]
        self._record.losses.extend(_told(telling, ["loss"])[1]["loss"])
        special: dict[int, Payload] = {}
        for group in groups:
            if not SPECIAL.isdisjoint(group.keys):
                special |= zip(group.places, group.payloads, strict=True)
        for place in sorted(special):
            for kind in add_special(self._record, special[place]):
                report(kind, [place])
        by_name: dict[str, list[Payloads]] = defaultdict(list)
        for group in map(Payloads.measured, groups):
            for name in group.keys:
                by_name[name].append(group)
        for name, telling in by_name.items():
            if name not in NOT_NUMBERS:
                places, told = _told(telling, [name, "rank"])
                self._add_named(name, told[name], _ranks(told["rank"], 0), seen[places])

    def _add_rates(self, groups: Sequence[Payloads], report: ReportDefects) -> "Floats":
        """Add the training rates; return how many usable ones there are up to each place."""
        from ..numerics import np

        before = self._record.told.usable
        telling = [group for group in groups if not RATES.isdisjoint(group.keys)]
        places, told = _told(telling, TOLD_OF_RATES)
        count = len(places)
        if told["task"].count("train") < count or told["train_rate"].count(UNSET) < count:
            places, told = self._training(places, told)
        usable = np.zeros(1 + max(group.places[-1] for group in groups))
        if places:
            there = np.array(places)
            usable[there] = self._add_observations(
                told, lambda kind, marks: report(kind, there[marks].tolist())
            )
        return before + np.cumsum(usable)

    def _training(
        self, places: Sequence[int], told: Mapping[str, Sequence[Any]]
    ) -> tuple[list[int], dict[str, list[Any]]]:
        """The lines that have a training rate, as ``rate``; the others are counted."""
        lines = [_line(told, k) for k in range(len(places))]
        rates = list(map(training_rate, lines))
        for line, rate in zip(lines, rates, strict=True):
            if rate is UNSET:
                self._record.told.add(line)
        keep = [rate is not UNSET for rate in rates]
        told = {**told, "rate": rates, "task": ["train"] * len(rates)}
        columns = {name: list(compress(values, keep)) for name, values in told.items()}
        return list(compress(places, keep)), columns

    def _add_observations(
        self,
        told: Mapping[str, Sequence[Any]],
        report: "Callable[[DefectKind, Marks], None]",
    ) -> "Marks":
        """Add rates, and what their lines tell; return which are usable and after the warm-up."""
        from ..numerics import np

        record = self._record
        names = ("steps", "step", "time", "elapsed", "arrived")
        columns = {name: _column(told[name]) for name in names}
        rate = columns["rate"] = np.array(doubles(told["rate"]))
        columns["rank"] = np.array(_ranks(told["rank"], record.own_rank or 0), float)
        warmup = columns["warmup"] = np.array(_warmups(told["warmup"]), float)
        steps, is_usable = columns["steps"], are_rates(rate)
        is_count = (steps > 0) & (steps == np.floor(steps))
        columns["steps"] = np.where(is_count, steps, nan)
        if not is_count.all():
            is_told = np.array([value not in (UNSET, None) for value in told["steps"]])
            report(DefectKind.BAD_STEP_COUNT, is_told & ~is_count)
        columns["repeated"] = self._repeated(columns)
        report(DefectKind.REPEATED_RATE, columns["repeated"] != 0)
        report(DefectKind.BAD_RATE, ~is_usable)
        record.rates.add(columns, not_doubles(told["rate"]))
        texts = (text for text in told["units"] if text and isinstance(text, str))
        record.units = record.units or next(texts, "")
        is_positive = is_usable & (rate > 0)
        self._count(told, is_positive)
        counted: Marks = is_positive & (warmup == 0)
        return counted

    def _repeated(self, columns: "Mapping[str, Floats]") -> "Floats":
        """Which lines were written before, as 1: only those that tell both step and time."""
        from ..numerics import np

        rank, step, time, rate = (columns[name] for name in ("rank", "step", "time", "rate"))
        repeated = np.zeros(len(rate))
        known = np.isfinite(step) & np.isfinite(time) & (np.abs(rate) < LARGEST)
        if known.any():
            repeated[known] = self._lines.add(rank[known], step[known], time[known], rate[known])
        return repeated

    def _count(self, told: Mapping[str, Sequence[Any]], is_positive: "Marks") -> None:
        # true is equal to 1, but is no rank
        columns = [*(told[name] for name in KIND), list(map(type, told["rank"]))]
        counts, own_rank = self._record.told, self._record.own_rank
        try:
            kinds = Counter(compress(zip(*columns, strict=True), is_positive.tolist()))
            counts.add_kinds(kinds, own_rank)
        except TypeError:  # a list or an object in the place of a text or a number
            is_positive = is_positive & False
        for place in (~is_positive).nonzero()[0].tolist():
            counts.add(_line(told, place), own_rank)

    def _add_named(
        self, name: str, values: Sequence[Any], ranks: Sequence[int], seen: "Floats"
    ) -> None:
        """Add what lines told under a name: a number each, or a group of numbers by their names.

        Numbers in a group of ``FACTS`` keep their names; in another group they are ``group.name``.
        """
        self._add_numbers(name, values, ranks, seen)
        if dict not in set(map(type, values)):
            return
        places: dict[str, list[int]] = defaultdict(list)
        for place, value in enumerate(values):
            for inner in value if isinstance(value, dict) else ():
                places[inner].append(place)
        for inner, telling in places.items():
            self._add_numbers(
                inner if name in FACTS else f"{name}.{inner}",
                [values[place][inner] for place in telling],
                [ranks[place] for place in telling],
                seen[telling],
            )

    def _add_numbers(
        self, name: str, values: Sequence[Any], ranks: Sequence[int], seen: "Floats"
    ) -> None:
        from ..numerics import np

        is_number = np.abs(np.array(doubles(values))) < LARGEST
        for value in compress(values, (~is_number).tolist()):
            if isinstance(value, float | str) and str(value).lower() in NOT_FINITE:
                self._record.not_finite.setdefault(name, Counter())[str(value)] += 1
        by_rank: dict[int, list[int]] = defaultdict(list)
        for place in is_number.nonzero()[0].tolist():
            by_rank[ranks[place]].append(place)
        for rank, places in by_rank.items():
            metric = self._record.numbers.setdefault(name, {}).setdefault(rank, Metric())
            metric.numbers.extend([values[place] for place in places])
            metric.seen.add(seen[places])


def _line(told: Mapping[str, Sequence[Any]], place: int) -> Payload:
    return {name: values[place] for name, values in told.items() if values[place] is not UNSET}


def _told(
    groups: Sequence[Payloads], names: Iterable[str]
) -> tuple[list[int], dict[str, list[Any]]]:
    """What payloads tell under names, in their order: their places and values.

    The value is ``UNSET`` where a payload does not have the key.
    """
    columns = {}
    for name in names:
        parts = [group.column(name) for group in groups]
        columns[name] = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
    places = list(chain.from_iterable(group.places for group in groups))
    if len(groups) > 1:
        order = sorted(range(len(places)), key=places.__getitem__)
        places = [places[k] for k in order]
        columns = {name: [values[k] for k in order] for name, values in columns.items()}
    return places, columns


def _column(told: Sequence[Any]) -> "Floats":
    """The numbers that lines tell under a name, shape (n,); NaN where there is none."""
    from ..numerics import np

    values = np.array(doubles(told))
    return np.where(np.abs(values) < LARGEST, values, nan)


def _ranks(told: Sequence[Any], otherwise: int) -> Sequence[int]:
    if set(map(type, told)) == {int} and is_rank(min(told)) and is_rank(max(told)):
        return told
    return [rank if is_rank(rank) else otherwise for rank in told]


def _warmups(told: Sequence[Any]) -> Sequence[bool]:
    return list(map(is_warmup, told)) if any(told) else [False] * len(told)
