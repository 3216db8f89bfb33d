"""Probes of a part of the nodes, in rounds: those of disjoint nodes run at the same time."""

from collections.abc import Generator, Sequence
from typing import TypeVar

FLAKY = 0.01  # the share of probes that tell wrong
TRUE = 1 - FLAKY

Probe = frozenset[str]
T = TypeVar("T")
Rounds = Generator[list[Probe], list[bool], T]  # yields probes, is sent whether each was bad
Asks = Generator[Probe, bool, T]


def side_by_side(tasks: Sequence[Asks[T]]) -> Rounds[list[T]]:
    """What tasks return, in their order; those whose probes are disjoint ask in the same round."""
    asked = {place: next(task) for place, task in enumerate(tasks)}
    returned: dict[int, T] = {}
    while asked:
        busy: set[str] = set()
        now = []
        for place, probe in asked.items():
            if busy.isdisjoint(probe):
                busy |= probe
                now.append(place)
        outcomes = yield [asked[place] for place in now]
        for place, is_bad in zip(now, outcomes, strict=True):
            try:
                asked[place] = tasks[place].send(is_bad)
            except StopIteration as end:
                returned[place] = end.value
                del asked[place]
    return [returned[place] for place in range(len(tasks))]
