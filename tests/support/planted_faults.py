"""Nodes with planted faults: sets of them are bad or good, and a probe may tell wrong."""

import random
from collections.abc import Sequence
from math import log2

from msgspec import Struct

from milabench_ddp.plan.isolate import Isolation


class PlantedFaults(Struct, frozen=True):
    """What is wrong among nodes."""

    nodes: tuple[str, ...]
    bad: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()  # bad only together
    scale: int | None = None  # from so many nodes on all sets are bad

    def is_bad(self, probe: frozenset[str]) -> bool:
        too_many = self.scale is not None and len(probe) >= self.scale
        return too_many or bool(self.bad & probe) or any({*p} <= probe for p in self.pairs)

    @property
    def most_rounds(self) -> float:
        """How many rounds may find them while every probe tells the truth."""
        faults = len(self.bad) + len(self.pairs) + (self.scale is not None)
        decided_late = len(self.pairs) + (self.scale is not None)
        few = 3 * (len(self.nodes) < 6)  # too few nodes to run disjoint probes
        return 2 * faults * log2(len(self.nodes)) + 4 + 2 * decided_late + few


class Isolated(Struct, frozen=True):
    """What an isolation told, and what it took."""

    bad: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    scale: int | None
    is_unexplained: bool
    rounds: int
    probes: int
    lies: int  # probes that told wrong

    def is_right(self, faults: PlantedFaults) -> bool:
        told = (self.bad, self.pairs, self.scale, self.is_unexplained)
        return told == (faults.bad, faults.pairs, faults.scale, False)

    def is_wrong(self, faults: PlantedFaults) -> bool:
        """Whether a good node or pair is condemned."""
        return not (self.bad <= faults.bad and self.pairs <= faults.pairs)


def isolated(
    faults: PlantedFaults, chance: random.Random | None = None, flaky: float = 0.0, **how: object
) -> Isolated:
    """Isolate the faults; each probe tells wrong with the probability ``flaky``."""
    isolation = Isolation(faults.nodes, **how)  # type: ignore[arg-type]
    rounds = probes = lies = 0
    while isolation.round:
        together = sorted(node for probe in isolation.round for node in probe)
        assert len(together) == len(set(together)), "a node is in two probes of a round"
        assert set(together) <= set(faults.nodes)
        outcomes = []
        for probe in isolation.round:
            lie = chance is not None and chance.random() < flaky
            lies += lie
            outcomes.append(faults.is_bad(probe) != lie)
        rounds, probes = rounds + 1, probes + len(outcomes)
        assert rounds < 5_000, "it never ends"
        isolation.tell(outcomes)
    bad = frozenset(each.nodes[0] for each in isolation.bad if len(each.nodes) == 1)
    pairs = frozenset(ordered(each.nodes) for each in isolation.bad if len(each.nodes) == 2)
    found = bad, pairs, isolation.scale, isolation.is_unexplained
    return Isolated(*found, rounds, probes, lies)


def ordered(pair: Sequence[str]) -> tuple[str, str]:
    first, second = sorted(pair)
    return first, second


def planted(
    chance: random.Random, count: int, bad: int = 0, pairs: int = 0, scale: bool = False
) -> PlantedFaults:
    """Faults of so many nodes; pairs are of other nodes, a number is from 3/4 of the nodes on."""
    nodes = tuple(f"n{number}" for number in range(count))
    picked = chance.sample(nodes, bad + 2 * pairs)
    together = picked[bad:]
    return PlantedFaults(
        nodes,
        frozenset(picked[:bad]),
        frozenset(map(ordered, zip(together[::2], together[1::2], strict=True))),
        chance.randint(-(-3 * count // 4), count) if scale else None,
    )
