"""Links between devices: a pair of ranks each, by kind; and what is slow among them."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ..grouping import grouped
from ..hostlist import natural
from ..numerics import Floats, np
from ..results.records import Payload, is_finite
from .link_map import LEVEL, slow_parts
from .model import Row
from .once import once
from .statistics.values import median

SLOW = 0.2  # below the median of the pairs within a node, whose paths are not all alike
LEFT = [math.exp(-0.05 * 1.25**step) for step in range(25)]  # of the rate of a link, as is tried
MOST_CELLS = 8  # of a map for each link that is known
WITHIN, BETWEEN, ONE_WAY = "within a node", "between nodes", "one way"


class Link(Struct, frozen=True):
    """A pair of ranks, one way or both ways at once; medians over launches."""

    sender: int
    receiver: int
    ways: int
    nodes: tuple[str, str]
    gb_s: float
    best_gb_s: float  # of the fastest observation; at least the median
    schedule: str = ""  # "alone", or in "rounds" of all ranks; empty: not told
    part: int = 0  # of the ranks that exchange messages at the same time

    @property
    def kind(self) -> tuple[str, str, str]:
        where = WITHIN if self.nodes[0] == self.nodes[1] else BETWEEN
        return where, ONE_WAY if self.ways == 1 else "both ways", self.schedule

    @property
    def ranks(self) -> tuple[int, int]:
        return self.sender, self.receiver

    @property
    def label(self) -> str:
        return f"{self.sender} {'->' if self.ways == 1 else '<->'} {self.receiver}"


class LinkKind(Struct, frozen=True):
    """All links of a kind."""

    name: tuple[str, str, str]  # where, which ways, and the schedule
    links: Sequence[Link]

    @property
    def node_of(self) -> dict[int, str]:
        """The nodes of its ranks, which are in order."""
        ends = {(rank, link.nodes[k]) for link in self.links for k, rank in enumerate(link.ranks)}
        return dict(sorted(ends))

    @property
    def typical(self) -> float:
        return median(link.gb_s for link in self.links)

    @property
    def is_map(self) -> bool:
        """Whether enough of the pairs are known that a matrix of them is worth its memory."""
        ranks = {rank for link in self.links for rank in link.ranks}
        parts = {link.part for link in self.links}
        return len(ranks) ** 2 <= MOST_CELLS * len(self.links) * len(parts)

    @property
    def slowest(self) -> Link:
        return min(self.links, key=lambda link: link.gb_s)


class SlowLinks(Struct, frozen=True):
    """Links that are slow for the same reason."""

    shape: str  # "link", "card" of a rank, "node"; "within" and "across" a group of nodes
    nodes: tuple[str, ...]
    ranks: tuple[int, ...]
    kind: LinkKind
    links: Sequence[Link]  # in the slower direction
    way: str  # "sends" or "receives", if only that is slow

    @property
    def gb_s(self) -> float:
        return median(link.gb_s for link in self.links)

    @property
    def others(self) -> float:
        """The median of the other links of the kind."""
        own = set(self.links)
        return median(link.gb_s for link in self.kind.links if link not in own)


@once
def kinds_of(row: Row) -> list[LinkKind]:
    kinds = grouped((link.kind, link) for link in links_of(row))
    return [LinkKind(name, found) for name, found in kinds.items()]


def links_of(row: Row) -> Iterator[Link]:
    told: dict[tuple[int, int, int, str], list[Payload]] = defaultdict(list)
    for payload in row.tables.get("pair", ()):
        if not is_finite(payload.get("gb_s")):
            continue
        match payload:
            case {"from": int() as sender, "to": int() as receiver, "ways": int() as ways}:
                schedule = str(payload.get("schedule") or "")
                told[sender, receiver, ways, schedule].append(payload)
    for (sender, receiver, ways, schedule), payloads in told.items():
        nodes = payloads[0].get("nodes")
        first, second = nodes if isinstance(nodes, list) and len(nodes) == 2 else ("", "")
        gb_s = median(payload["gb_s"] for payload in payloads)
        best = max(gb_s, median(payload.get("best_gb_s") for payload in payloads))
        part = payloads[0].get("part")
        yield Link(
            sender,
            receiver,
            ways,
            (str(first), str(second)),
            gb_s,
            best,
            schedule,
            part if isinstance(part, int) else 0,
        )


def between_nodes(row: Row) -> LinkKind | None:
    """The map of links between nodes, one way, of the schedule that has most."""
    kinds = [kind for kind in kinds_of(row) if kind.name[:2] == (BETWEEN, ONE_WAY) and kind.is_map]
    return max(kinds, key=lambda kind: len(kind.links), default=None)


class SpeedMap(Struct, frozen=True):
    """The links between nodes, or between ranks; of the pairs of ranks of two nodes the slowest."""

    ends: Sequence[str]
    speeds: Floats  # GB/s, from each end to each, shape (ends, ends); NaN: not known

    @classmethod
    def of(cls, links: Iterable[Link], *, of_nodes: bool) -> "SpeedMap":
        slowest: dict[tuple[str, str], float] = {}
        for link in links:
            first, second = link.nodes if of_nodes else map(str, link.ranks)
            for pair in [(first, second), (second, first)][: 1 if link.ways == 1 else 2]:
                slowest[pair] = min(link.gb_s, slowest.get(pair, math.inf))
        ends = sorted({end for pair in slowest for end in pair}, key=natural)
        speeds = [[slowest.get((sender, to), math.nan) for to in ends] for sender in ends]
        return cls(ends, np.array(speeds).reshape(len(ends), len(ends)))


def shared_rates(row: Row) -> list[tuple[Link, Link]]:
    """Pairs of ranks of different nodes, one way: at the same time as others, and alone."""
    links = {kind.name: kind.links for kind in kinds_of(row)}
    rounds = {link.ranks: link for link in links.get((BETWEEN, ONE_WAY, "rounds"), ())}
    alone = links.get((BETWEEN, ONE_WAY, "alone"), ())
    return [(rounds[link.ranks], link) for link in alone if link.ranks in rounds]


@once
def slow_links(row: Row) -> list[SlowLinks]:
    """What is slow among the links of a benchmark.

    Within a node each link is judged alone, since some pairs have a longer path. Between nodes the
    map of each part of the ranks is judged (see ``link_map``).
    """
    found = []
    for kind in kinds_of(row):
        least = (1 - SLOW) * kind.typical
        for link in kind.links if kind.name[0] == WITHIN else ():
            if link.best_gb_s < least:
                found.append(SlowLinks("link", link.nodes[:1], link.ranks, kind, [link], ""))
    if kind_between := between_nodes(row):
        found += _slow_between(kind_between)
    return found


def least_told(kind: LinkKind, nodes: Collection[str]) -> float:
    """By which fraction the links between two nodes must be slower to be told, beside the others.

    In steps of a quarter of its logarithm; 1 if they are never told.
    """
    own = {*nodes}
    for left in LEFT:
        links = [
            replace(link, best_gb_s=link.best_gb_s * left ** (own == {*link.nodes}))
            for link in kind.links
        ]
        if any(own.issuperset(each.nodes) for each in _slow_between(LinkKind(kind.name, links))):
            return 1 - left
    return 1.0


def _slow_between(kind: LinkKind) -> Iterator[SlowLinks]:
    """What is slow in several parts is told once; a node if more than half of its ranks are."""
    parts = grouped((link.part, link) for link in kind.links).values()
    ranks_of = grouped((node, rank) for rank, node in kind.node_of.items())
    found = chain.from_iterable(_slow_of(kind, links, LEVEL / len(parts)) for links in parts)
    for (shape, nodes), same in grouped(((slow.shape, slow.nodes), slow) for slow in found).items():
        if shape == "link":
            yield from same
            continue
        ranks = tuple(sorted(chain.from_iterable(slow.ranks for slow in same)))
        if shape == "node":
            shape = "node" if 2 * len(ranks) > len(ranks_of[nodes[0]]) else "card"
        links = [link for slow in same for link in slow.links]
        ways = {slow.way for slow in same}
        yield SlowLinks(shape, nodes, ranks, kind, links, ways.pop() if len(ways) == 1 else "")


def _slow_of(kind: LinkKind, links: Sequence[Link], level: float) -> Iterator[SlowLinks]:
    node_of, ranks = kind.node_of, sorted({rank for link in links for rank in link.ranks})
    number = {rank: place for place, rank in enumerate(ranks)}
    places = {link: (number[link.sender], number[link.receiver]) for link in links}
    speeds = np.full((len(ranks), len(ranks)), np.nan)
    for link, place in places.items():
        speeds[place] = link.best_gb_s
    for part in slow_parts(speeds, level):
        own = tuple(ranks[end] for end in part.ends)
        nodes = tuple(sorted({node_of[rank] for rank in own}, key=natural))
        slow = [link for link, place in places.items() if part.links[place]]
        shape = "node" if len(nodes) == 1 else part.shape
        yield SlowLinks(shape, nodes, own, kind, slow, part.way)
