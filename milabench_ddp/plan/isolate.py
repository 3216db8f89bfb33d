"""Finds by which nodes a group of them fails, from probes of subsets that are good or bad. Pure.

    sweep    All nodes in groups of the least size; bad groups again. A node of a bad group is
             joined with good nodes, other ones each time: it is bad if that is bad ``AGREE`` times
             more often than good. If no node of a group is, two of its nodes together may be.
    search   All others together are still bad: so is one half of them, or they only are together.
             Halves that are good alone are joined by parts, all disjoint ones in one round, until
             one of these is bad; and so on down to two nodes, which are decided as above. Where no
             part is bad, a probe told wrong, and those before are asked again; or:
    scale    The number fails (:mod:`~milabench_ddp.plan.fault_of_scale`).

Parts are those of delta debugging (Zeller 2002). Unlike there and in group testing (Hwang 1972), no
outcome is believed alone.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice

from msgspec import Struct

from .fault_of_scale import fewest_that_fail
from .probes import FLAKY, TRUE, Asks, Probe, Rounds, side_by_side

AGREE = 3  # bad outcomes more than good ones that condemn, beside those that made it suspect
_ALL_GOOD, _FAIL = 0.001, 4  # odds that nodes fail
_TRIES = 6  # ends of a search in something that fails


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
        while self._whole_fails and self.scale is None and not self.is_unexplained:
            known = self.bad
            for left_out in self._covers():
                rest = [node for node in self._nodes if node not in left_out]
                if len(rest) > 1 and (yield from self._search(rest)):
                    break
            else:
                return
            self.is_unexplained = self.scale is None and self.bad == known

    def _sweep(self) -> Rounds[None]:
        order, size = self._nodes, self._least
        suspects: list[tuple[str, ...]] = []
        for _ in range(AGREE):
            groups = [tuple(order[k : k + size]) for k in range(0, len(order), size)]
            if self._whole_fails and len(groups) > 2 and len(groups[-1]) < size:
                groups[-2:] = [groups[-2] + groups[-1]]
            whole = [group for group in groups if len(group) >= size]
            outcomes = yield [frozenset(group) for group in whole]
            told = dict(zip(whole, outcomes, strict=True))
            if bad := [group for group in whole if told[group]]:  # some by chance
                again = yield [frozenset(group) for group in bad]
                told |= zip(bad, again, strict=True)
            self._good_groups = {group for group in whole if not told[group]}
            self._good = [node for group in whole if not told[group] for node in group]
            suspects += [group for group in groups if told.get(group, True)]
            if self._good or size == len(order):
                break
            fixed = 1 - len(order) % 2  # round robin: with other neighbours
            order = (*order[:fixed], *order[fixed + 1 :], order[fixed])
        yield from self._examine(suspects)

    def _examine(self, suspects: Sequence[tuple[str, ...]], bad_pairs: int = 0) -> Rounds[None]:
        """Decide about the nodes of bad groups, then about pairs of those that are good.

        Args:
            bad_pairs: how often each pair was bad until now, of a few that are suspects.
        """
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
        unexplained = [group for group in suspects if bad.isdisjoint(group)]
        pairs = chain.from_iterable(combinations(group, 2) for group in unexplained)
        tasks = [self._decide_pair(pair, bad_pairs) for pair in pairs]
        self._condemn(decided + (yield from side_by_side(tasks)))

    def _condemn(self, decided: Sequence[Condemned | None]) -> None:
        found = self.bad + [each for each in decided if each]
        bad = {each.nodes[0] for each in found if len(each.nodes) == 1}
        # what was bad together was so by a node that is bad alone
        self.bad = [each for each in found if len(each.nodes) == 1 or bad.isdisjoint(each.nodes)]
        self._good = [node for node in self._good if node not in bad]

    def _decide_pair(self, pair: tuple[str, ...], bad: int) -> Asks[Condemned | None]:
        return self._decide(pair, self._good, agree=AGREE - 1, bad=bad)

    def _decide(
        self,
        core: tuple[str, ...],
        good: Sequence[str],
        place: int = 0,
        agree: int = AGREE,
        bad: int = 0,
    ) -> Asks[Condemned | None]:
        """Probe nodes until it is clear, each time joined with other good ones to the least size.

        Args:
            place: of the first ones; those that are decided beside it have other places.
            agree: bad outcomes more than good ones that condemn.
            bad: outcomes until now.
        """
        others = [node for node in good if node not in core]
        missing = self._least - len(core)
        if len(others) <= missing:
            missing = 0  # always the same ones would decide
        agree += len(others) < AGREE * missing  # few may be bad with it
        enough = 1 if missing or self._whole_fails else 2
        fine = 0
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

    def _search(self, rest: Sequence[str]) -> Rounds[bool]:
        """Find a defect among nodes; return whether they fail."""
        # Odds that they fail; where pairs are known, others are asked about twice
        odds = 0.05 if any(len(each.nodes) == 2 for each in self.bad) else 1.0
        odds = yield from _odds(rest, odds)
        if odds < 1:
            return False
        # If a pair was condemned by mistake, the others still fail: decide about it again
        doubted = [each for each in self.bad if len(each.nodes) == 2 and each.bad < AGREE]
        self.bad = [each for each in self.bad if each not in doubted]
        tasks = [self._decide(each.nodes, self._good, bad=each.bad) for each in doubted]
        self._condemn((yield from side_by_side(tasks)))
        known = self.bad
        path = [_Part(tuple(rest))]
        if (halves := path[0].across()) and {halves.left, halves.right} <= self._good_groups:
            path.append(halves)
        again: set[int] = set()
        for _ in range(_TRIES):
            while smaller := (yield from self._smaller(path[-1], rest)):
                path.append(smaller)
            last = path[-1]
            size = len(last.nodes)
            if last.right and size == 2 and len(rest) > 5:  # each was good with others, twice
                self._condemn((yield from side_by_side([self._decide_pair(last.nodes, 1)])))
            elif size <= 2 or 2 < self._least > len(rest) // 3:  # too few to join all with others
                yield from self._examine([last.nodes], int(size == 2))
            if self.bad != known:
                return True
            # It is their number, or a probe told wrong: the one of these nodes, or of a part.
            is_whole = size == len(rest)
            is_bad = is_whole or (yield [self._joined([last], last, rest)[0][1]])[0]
            path = [part for part in path if len(part.nodes) > size]
            if is_bad:
                path.append(_Part(last.nodes))
            if is_bad and (is_whole or size in again):
                self.scale = yield from fewest_that_fail(rest, size)
                if self.scale:
                    return True
            again.add(size)
            if is_whole and (odds := (yield from _odds(rest, odds * FLAKY))) < 1:
                return False
        return True

    def _smaller(self, part: "_Part", rest: Sequence[str]) -> Rounds["_Part | None"]:
        """What fails of a part that fails: a half, or only two halves together; None if nothing."""
        most = 2 if len(part.nodes) == len(rest) else 4  # all may fail by their number
        for parts in part.smaller(most):
            asked = self._joined(parts, part, rest)
            outcomes = (yield [probe for _, probe in asked]) if asked else []
            for (smaller, _), is_bad in zip(asked, outcomes, strict=True):
                if is_bad:
                    return smaller
        return part.across()

    def _joined(
        self, parts: Sequence["_Part"], within: "_Part", rest: Sequence[str]
    ) -> list[tuple["_Part", Probe]]:
        """Probes of disjoint parts, joined with nodes from outside to the least size."""
        inside = {*within.nodes}
        others = iter([node for node in rest if node not in inside])
        probes = []
        for part in parts:
            nodes = [*part.nodes, *islice(others, max(self._least - len(part.nodes), 0))]
            if len(nodes) >= self._least:
                probes.append((part, frozenset(nodes)))
        return probes


def _odds(nodes: Sequence[str], odds: float) -> Rounds[float]:
    """The odds that nodes fail, asked until they are clear."""
    while _ALL_GOOD < odds < _FAIL:
        (is_bad,) = yield [frozenset(nodes)]
        odds *= TRUE / FLAKY if is_bad else FLAKY / TRUE
    return odds


class _Part(Struct, frozen=True):
    """Nodes that fail: by any of the left ones, or by left and right ones only together."""

    left: tuple[str, ...]
    right: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.left + self.right

    def smaller(self, most: int) -> Iterator[list["_Part"]]:
        """Disjoint parts for each round; any two nodes that may fail together are in one.

        Args:
            most: parts of a side; so many rounds show that no two nodes fail.
        """
        if self.right and len(self.nodes) > 2:
            longest = max(len(self.left), len(self.right))
            count = min(longest if longest < 5 else 3, most)  # the fewest rounds for what they tell
            left, right = _split(self.left, count), _split(self.right, count)
            for turn in range(count):
                pairs = zip(left, right[turn:] + right[:turn], strict=True)
                yield [_Part(one, other) for one, other in pairs if one and other]
        elif len(self.left) > 1 and not self.right:
            yield [_Part(half) for half in _split(self.left, 2)]

    def across(self) -> "_Part | None":
        """By both halves only together, if it is not known yet."""
        return None if self.right or len(self.left) < 2 else _Part(*_split(self.left, 2))


def _split(nodes: tuple[str, ...], count: int) -> list[tuple[str, ...]]:
    size = len(nodes)
    return [nodes[size * k // count : size * (k + 1) // count] for k in range(count)]
