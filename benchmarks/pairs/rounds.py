"""Who exchanges messages with whom, and which pairs are worth a second look."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from statistics import median

SCHEDULES = ("alone", "rounds", "both")
SLOW = 1.25  # times the median of its kind

Pair = tuple[int, int]
Ways = tuple[Pair, ...]  # the sender and the receiver of each way; none for a rank that waits
Together = Sequence[Ways]  # those of several pairs, measured at the same time
Round = Sequence[Sequence[Pair]]  # the pairs of each part
Times = Sequence[float]  # ms of each observation; the first is the warm-up


@dataclass(frozen=True)
class Seen:
    """The times of a pair on one of its ranks; one way, or both at once."""

    ways: Ways
    ms: Times


def schedule(kind: str, ranks: int) -> Iterator[list[Pair]]:
    """The pairs that exchange messages at the same time, round after round; each pair once.

    The rounds of a tournament: one rank keeps its place, the others move around a circle. With an
    odd number of ranks one of them pauses in each round.
    """
    if kind == "alone":
        for first in range(ranks):
            for second in range(first + 1, ranks):
                yield [(first, second)]
        return
    places = ranks + ranks % 2
    for turn in range(places - 1):
        circle = [0, *((turn + k) % (places - 1) + 1 for k in range(places - 1))]
        met = [sorted((circle[k], circle[-1 - k])) for k in range(places // 2)]
        yield [(first, second) for first, second in met if second < ranks]


def rounds_of(kind: str, parts: Sequence[Sequence[int]]) -> list[Round]:
    """The rounds of all parts, each with its own schedule, at the same time."""
    own = [
        [
            [(part[first], part[second]) for first, second in met]
            for met in schedule(kind, len(part))
        ]
        for part in parts
    ]
    return list(zip_longest(*own, fillvalue=()))


def units_of(pairs: Iterable[Sequence[Pair]]) -> list[Together]:
    """One way, back, and both at once, of pairs that exchange messages at the same time."""
    there = list(chain.from_iterable(pairs))
    back = [(second, first) for first, second in there]
    return [
        [(way,) for way in there],
        [(way,) for way in back],
        list(zip(there, back, strict=True)),
    ]


def one_by_one(together: Round) -> list[Together]:
    """The units of a round's pairs, one pair of each part after the other."""
    turns = zip_longest(*together)
    return [unit for turn in turns for unit in units_of([[pair] for pair in turn if pair])]


def slower(all_seen: Sequence[Sequence[Seen]]) -> dict[Ways, Times]:
    """The times of each pair and way: of each observation, that of the rank that took longer.

    A sender can be done before its data has arrived, and a receiver can begin late.

    Args:
        all_seen: what each rank saw.
    """
    found: dict[Ways, Times] = {}
    for of_rank in all_seen:
        for seen in of_rank:
            known = found.get(seen.ways, seen.ms)
            found[seen.ways] = [max(pair) for pair in zip(known, seen.ms, strict=True)]
    return found


def total(ms: Times) -> float:
    """Milliseconds of all observations without the warm-up."""
    return math.fsum(ms[1:])


def suspects(found: Mapping[Ways, Times], nodes: Sequence[str]) -> set[Ways]:
    """The ways that are to be measured again: the slowest, and all that are slow for their kind."""
    kinds: dict[tuple[bool, int], list[Ways]] = defaultdict(list)
    for ways in found:
        sender, receiver = ways[0]
        kinds[nodes[sender] == nodes[receiver], len(ways)].append(ways)
    slow = {slowest_way(found)}
    for alike in kinds.values():
        typical = median(total(found[ways]) for ways in alike)
        slow |= {ways for ways in alike if total(found[ways]) > SLOW * typical}
    return slow


def pairs_of(all_ways: Iterable[Ways]) -> list[Pair]:
    """The pairs of ranks, each once, in the order in which they come."""
    found = dict.fromkeys((min(ways[0]), max(ways[0])) for ways in all_ways)
    return list(found)


def slowest_round(rounds: Sequence[Round], found: Mapping[Ways, Times]) -> int:
    """The place of the round that moves the least: the sum of the rates of its pairs is lowest.

    Where a switch has less bandwidth to others than to its nodes, these are many pairs across it.
    """

    def moved(place: int) -> float:
        units = units_of(rounds[place])
        return math.fsum(1 / max(total(found[ways]), 1e-9) for unit in units for ways in unit)

    return min(range(len(rounds)), key=moved)


def slowest_way(found: Mapping[Ways, Times]) -> Ways:
    """The single way that took the longest time."""
    single = [ways for ways in found if len(ways) == 1]
    return max(single, key=lambda ways: total(found[ways]))
