"""Finds by which nodes a group of them fails, from probes of subsets that are good or bad. Pure.

A probe tells wrong in ``FLAKY`` of all cases. Probes of disjoint nodes run at the same time: they
are a round, which takes as long as one of them.

    sweep    All nodes in groups of the least size. A node of a bad group is joined with good nodes,
             other ones each time: it is bad if that is bad ``AGREE`` times more often than good. If
             no node of a group is, two of its nodes together may be.
    search   All others together are still bad. The smallest prefix of them that is bad ends in one
             node of a defect, and the smallest prefix that is bad together with this node in the
             other: a larger set is never better. Both are found by halves of what is likely after
             all that was told (Burnashev and Zigangirov 1974). What was found is decided as above.
    scale    The two nodes are good together with fewer others, and as many nodes without them are
             bad: it is the number that fails.

Unlike in group testing (Hwang 1972) and delta debugging (Zeller 2002), no outcome is believed
alone.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import accumulate, chain, combinations
from typing import TypeVar

from msgspec import Struct

FLAKY = 0.01
AGREE = 3  # bad outcomes more than good ones that condemn, beside those that made it suspect
_SURE = 0.95  # of what a search finds, which is decided after it
_GOOD = 0.999  # that all others are good
_RARE = 0.02  # the share of isolations in which the same node has another defect
_TRIES = 4  # searches without a find in something that fails

Probe = frozenset[str]
T = TypeVar("T")
Rounds = Generator[list[Probe], list[bool], T]
Asks = Generator[Probe, bool, T]


class Condemned(Struct, frozen=True):
    """A bad node, or two that are bad only together, with what probes told of them."""

    nodes: tuple[str, ...]
    bad: int  # outcomes
    good: int


class Isolation:
    """Gives rounds of probes, is told their outcomes, and finds defects.

    Args:
        nodes: all that took part; neighbours are probed together.
        whole_fails: they fail together; if not, there is only the sweep.
        least: the smallest number of nodes of a probe.
    """

    def __init__(self, nodes: Sequence[str], *, whole_fails: bool = True, least: int = 2) -> None:
        self.bad: list[Condemned] = []  # nodes, and pairs of which each node alone is good
        self.scale: int | None = None  # from so many nodes on all sets fail
        self.is_unexplained = False  # the others fail together, for no node, pair or number
        self.round: list[Probe] = []  # to run now, on disjoint nodes; empty when all is said
        self._nodes, self._least = tuple(nodes), min(least, len(nodes))
        self._whole_fails = whole_fails
        self._good: list[str] = []  # those that may be joined with others
        self._rounds = self._steps()
        self.round = next(self._rounds, [])

    def tell(self, outcomes: Sequence[bool]) -> None:
        """Tell whether each probe of the round was bad, in its order."""
        try:
            self.round = self._rounds.send(list(outcomes))
        except StopIteration:
            self.round = []

    def _steps(self) -> Rounds[None]:
        yield from self._sweep()
        fruitless = 0 if self._whole_fails else _TRIES
        while fruitless < _TRIES and self.scale is None:
            known = len(self.bad)
            for number, left_out in enumerate(self._covers()):
                rest = [node for node in self._nodes if node not in left_out]
                prior = 1 - _RARE if number else 0.5
                if len(rest) > 1 and (yield from self._search(rest, prior)):
                    break
            else:
                return
            fruitless = 0 if len(self.bad) > known else fruitless + 1
        self.is_unexplained = self._whole_fails and self.scale is None

    def _sweep(self) -> Rounds[None]:
        order, size = self._nodes, self._least
        suspects: list[tuple[str, ...]] = []
        for _ in range(AGREE):
            groups = [tuple(order[k : k + size]) for k in range(0, len(order), size)]
            whole = [group for group in groups if len(group) == size]
            outcomes = yield [frozenset(group) for group in whole]
            told = dict(zip(whole, outcomes, strict=True))
            if len(whole) > 0.1 / FLAKY and (bad := [group for group in whole if told[group]]):
                # some are bad by chance
                again = yield [frozenset(group) for group in bad]
                told |= zip(bad, again, strict=True)
            self._good = [node for group in whole if not told[group] for node in group]
            suspects += [group for group in groups if told.get(group, True)]
            if self._good or size == len(order):
                break
            fixed = 1 - len(order) % 2  # round robin: with other neighbours
            order = (*order[:fixed], *order[fixed + 1 :], order[fixed])
        yield from self._examine(suspects)

    def _examine(self, suspects: Sequence[tuple[str, ...]]) -> Rounds[None]:
        """Decide about the nodes of bad groups, then about pairs of those that are good."""
        beside: dict[str, set[str]] = {}
        for group in suspects:
            for node in group:
                beside.setdefault(node, set()).update(group)
        alone = not self._good
        tasks = [
            self._decide((node,), [each for each in self._good if each not in beside[node]], place)
            for place, node in enumerate(beside)
        ]
        decided = yield from side_by_side(tasks)
        bad = {each.nodes[0] for each in decided if each}
        if alone and (len(bad) == len(beside) or (not bad and len(beside) > self._least)):
            self.scale = 1 if bad else self._least  # no node differs from another
            return
        self._good += [node for node in beside if node not in {*bad, *self._good}]
        pairs = chain.from_iterable(combinations(group, 2) for group in suspects)
        tasks = [self._decide(pair, self._good) for pair in pairs if bad.isdisjoint(pair)]
        self._condemn(decided + (yield from side_by_side(tasks)))

    def _condemn(self, decided: Sequence[Condemned | None]) -> None:
        self.bad += [each for each in decided if each]
        # what was bad together was so by a node that is bad alone
        bad = {each.nodes[0] for each in self.bad if len(each.nodes) == 1}
        self.bad = [each for each in self.bad if len(each.nodes) == 1 or bad.isdisjoint(each.nodes)]

    def _decide(
        self, core: tuple[str, ...], good: Sequence[str], place: int = 0
    ) -> Asks[Condemned | None]:
        """Probe nodes until it is clear, each time joined with other good ones to the least size.

        Args:
            place: of the first ones; those that are decided beside it have other places.
        """
        others = [node for node in good if node not in core]
        missing = self._least - len(core)
        if len(others) <= missing:
            missing = 0  # always the same ones would decide
        agree = AGREE if len(others) >= AGREE * missing else AGREE + 2  # few may be bad with it
        enough = 1 if missing else 2
        bad = fine = 0
        while bad - fine < agree and fine < enough + (bad > 0):
            first = (place + bad + fine) * missing % max(len(others), 1)
            joined = (others[first:] + others[:first])[:missing]
            if (yield frozenset((*core, *joined))):
                bad += 1
            else:
                fine += 1
        return Condemned(core, bad, fine) if bad - fine >= agree else None

    def _covers(self) -> Iterator[set[str]]:
        """What to leave out so that nothing known fails; any two others are in one of the rests."""
        bad = {each.nodes[0] for each in self.bad if len(each.nodes) == 1}
        pairs = [each.nodes for each in self.bad if len(each.nodes) == 2]
        for bit in reversed(range(len(pairs[1:]).bit_length() + 1)):
            for other in range(1 + bool(pairs)):
                yield bad | {pair[(k >> bit & 1) ^ other] for k, pair in enumerate(pairs)}

    def _search(self, rest: Sequence[str], prior: float) -> Rounds[bool]:
        """Find a defect among nodes; return whether they fail. ``prior``: that they do not."""
        least, whole = self._least, len(rest)
        weights = [(1 - prior) / (whole - least + 1)] * (whole - least + 1) + [prior]
        size = least + (yield from first_bad(lambda k: rest[: least + k], weights, _GOOD))
        if size > whole:
            return False
        last = rest[size - 1]
        group = tuple(rest[:size])
        if size > least:
            # The last hypothesis, that all others are needed, is the number's, too.
            weights = [0.5 / (size - least)] * (size - least) + [0.5]
            joined = yield from first_bad(lambda k: [last, *rest[: least - 1 + k]], weights, _SURE)
            joined += least - 1
            group = (*rest[:joined], last) if joined < least else (rest[joined - 1], last)
            if joined == size - 1 and (yield from self._is_scale(rest, size)):
                self.scale = size
                return True
            if joined >= least:  # each was good with others
                self._condemn((yield from side_by_side([self._decide(group, self._good)])))
                return True
        yield from self._examine([group])
        return True

    def _is_scale(self, rest: Sequence[str], size: int) -> Rounds[bool]:
        """Whether other sets of this size are bad, and good without any one of their nodes."""
        agreed = against = 0
        while agreed < 2 * AGREE and against < 2:
            place = len(rest) * (1 + agreed // 2) // 3
            wanted = agreed % 2 == 0
            probe = [*rest[place:], *rest[:place]][: size if wanted else size - 1]
            (is_bad,) = yield [frozenset(probe)]
            agreed += is_bad == wanted
            against += is_bad != wanted
        return against < 2


def first_bad(
    prefix: Callable[[int], Sequence[str]], weights: Sequence[float], sure: float
) -> Rounds[int]:
    """The number of the first bad one of sets that contain each other, by noisy bisection.

    Args:
        weights: how likely each is the first bad one; the last, that none is, has no probe.
        sure: how likely the last must be.
    """
    likely = list(weights)
    while True:
        *sums, total = accumulate(likely)
        best = max(range(len(likely)), key=likely.__getitem__)
        if likely[best] >= total * (sure if best == len(likely) - 1 else _SURE):
            return best
        place = min(range(len(sums)), key=lambda k: abs(sums[k] - total / 2))
        (is_bad,) = yield [frozenset(prefix(place))]
        for k in range(len(likely)):
            likely[k] *= (1 - FLAKY if is_bad == (k <= place) else FLAKY) / total


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
