"""Which ranks and devices of a benchmark stand for all: those named, the slowest, the fastest."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from ..finding import Finding
from ..model import Row
from ..ranks.rank_summary import RankId

T = TypeVar("T")

FEW = 3  # so many are all shown
MOST_NAMED = 4
_RANKS = re.compile(r"\b(job \d+ )?(rank|device)s? (\d[\d, -]*\d|\d)(?: \(([^)]*)\))?")


class Chosen(Struct, Generic[T], frozen=True):
    """One of many, and what it stands for."""

    one: T
    words: str  # empty where there are few, and all are shown

    def label(self, name: str) -> str:
        """Its name, with what it stands for."""
        return f"{name} ({self.words})" if self.words else name


def choose(
    many: Sequence[T],
    value: Callable[[T], float],
    words: tuple[str, str, str],
    named: Sequence[T] = (),
) -> list[Chosen[T]]:
    """Those with the smallest, the median and the largest value, and those that are named.

    Args:
        many: all of them.
        value: of each; one whose value is NaN is not chosen.
        words: for the smallest, the median and the largest.
        named: those that a finding names; the first few.
    """
    if len(many) <= FEW:
        return [Chosen(each, "") for each in many]
    values = [value(each) for each in many]
    ordered = [k for k in range(len(many)) if not math.isnan(values[k])]
    ordered.sort(key=values.__getitem__)
    found: dict[int, Chosen[T]] = {}
    places = (0, len(ordered) // 2, len(ordered) - 1) if ordered else ()
    for word, place in zip(words, places, strict=False):
        each = many[ordered[place]]
        found.setdefault(id(each), Chosen(each, word))
    for each in named[:MOST_NAMED]:
        found.setdefault(id(each), Chosen(each, "named"))
    return list(found.values())


def named_ranks(row: Row, findings: Iterable[Finding]) -> set[RankId]:
    """The ranks and devices that findings are about: ``ranks 0-3, 7 (node-2)``."""
    wanted: set[tuple[str, int, str]] = set()
    for finding in findings:
        for job, kind, numbers, node in _RANKS.findall(finding.place):
            wanted |= {(f"{job}{kind}", number, node) for number in _numbers(numbers)}
    found = set()
    for rank in row.ranks:
        kind = rank.id.name.rpartition(" ")[0]
        if not wanted.isdisjoint({(kind, rank.id.rank, rank.id.node), (kind, rank.id.rank, "")}):
            found.add(rank.id)
    return found


def _numbers(text: str) -> Iterable[int]:
    """The numbers in ``0-3, 7``."""
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            yield from range(int(first), int(last or first) + 1)


def is_named(label: str, findings: Iterable[Finding]) -> bool:
    """Whether a finding is about the process or the device with this label."""
    # `GPU 1` is not in `GPU 12`, nor in `GPU 1 of node-2`
    word = re.compile(rf"(?<![\w.]){re.escape(label)}(?![\w.]| of )")
    return any(word.search(finding.place) for finding in findings)
