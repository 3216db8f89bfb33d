"""Links between devices: a pair of ranks each, by kind; and what is slow among them."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ..hostlist import natural
from ..numerics import Floats, np
from ..results.records import Payload, is_finite
from .grouping import grouped
from .link_map import LEVEL, SMALLEST, slow_parts
from .model import Row
from .once import once
from .statistics.values import median

SLOW = 0.2  # below the median of the pairs within a node, whose paths are not all alike
MOST_CELLS = 8  # of a map for each link that is known
WITHIN, BETWEEN, ONE_WAY = "within a node", "between nodes", "one way"


class Link(Struct, frozen=True):
    """A pair of ranks, one way or both ways at once; medians over launches."""

    sender: int
    receiver: int
    ways: int
    nodes: tuple[str, str]
    gb_s: float
    best_gb_s: float  # of the fastest observation
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
    def ends(self) -> Iterable[tuple[int, str]]:
        return zip(self.ranks, self.nodes, strict=True)

    @property
    def best(self) -> float:
        return max(self.gb_s, self.best_gb_s)  # the latter may not be known

    @property
    def label(self) -> str:
        return f"{self.sender} {'->' if self.ways == 1 else '<->'} {self.receiver}"


class LinkKind(Struct, frozen=True):
    """All links of a kind."""

    name: tuple[str, str, str]  # where, which ways, and the schedule
    links: Sequence[Link]

    @property
    def typical(self) -> float:
        return median(link.gb_s for link in self.links)

    @property
    def is_map(self) -> bool:
        """Whether enough of the pairs are known that a matrix of them is worth its memory."""
        ranks = {(link.part, rank) for link in self.links for rank in link.ranks}
        cells = sum(count**2 for count in Counter(part for part, _ in ranks).values())
        return cells <= MOST_CELLS * len(self.links)

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
    chance: float | None  # at most that anything as clear is found where nothing is slow

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
        yield Link(
            sender,
            receiver,
            ways,
            (str(first), str(second)),
            median(payload["gb_s"] for payload in payloads),
            median(payload.get("best_gb_s") for payload in payloads),
            schedule,
            part if isinstance(part := payloads[0].get("part"), int) else 0,
        )


def between_nodes(row: Row) -> list[LinkKind]:
    """The maps of links between nodes, one way and both ways, of the schedule that has most."""
    kinds = (kind for kind in kinds_of(row) if kind.name[0] == BETWEEN)
    by_ways = grouped((kind.name[1], kind) for kind in kinds)
    largest = [max(each, key=lambda kind: len(kind.links)) for each in by_ways.values()]
    return [kind for kind in largest if kind.is_map]


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
    of_ranks = {
        kind.name[2]: {link.ranks: link for link in kind.links}
        for kind in kinds_of(row)
        if kind.name[:2] == (BETWEEN, ONE_WAY)
    }
    alone = of_ranks.get("alone", {})
    rounds = of_ranks.get("rounds", {})
    return [(rounds[ranks], link) for ranks, link in alone.items() if ranks in rounds]


@once
def slow_links(row: Row) -> list[SlowLinks]:
    """What is slow among the links of a benchmark.

    Within a node each link is judged alone, since some pairs have a longer path. Between nodes the
    map of each part of the ranks is judged (see ``link_map``), one way, then both ways: what is
    slow one way is named once.
    """
    kinds = kinds_of(row)
    found = []
    for kind in kinds:
        for link in kind.links if kind.name[0] == WITHIN else ():
            if link.best < (1 - SLOW) * kind.typical:
                found.append(SlowLinks("link", link.nodes[:1], link.ranks, kind, [link], "", None))
    maps = [
        (kind, links)
        for kind in between_nodes(row)
        for links in grouped((link.part, link) for link in kind.links).values()
    ]
    parts: dict[tuple[str, tuple[str, ...], tuple[int, ...]], list[SlowLinks]] = defaultdict(list)
    for kind, links in maps:
        for slow in _slow_of(kind, links, LEVEL / len(maps)):
            pair = tuple(sorted(slow.ranks)) if slow.shape == "link" else ()
            parts[slow.shape, slow.nodes, pair].append(slow)
    for same in parts.values():
        found.append(_together([slow for slow in same if slow.kind is same[0].kind]))
    return found


def _slow_of(kind: LinkKind, links: Sequence[Link], level: float) -> Iterator[SlowLinks]:
    ends = {rank: node for link in links for rank, node in link.ends}
    ranks = sorted(ends)
    place = {rank: number for number, rank in enumerate(ranks)}
    speeds = np.full((len(ranks), len(ranks)), np.nan)
    for link in links:
        speeds[place[link.sender], place[link.receiver]] = link.best
    for part in slow_parts(speeds, level):
        own = tuple(ranks[end] for end in part.ends)
        nodes = tuple(sorted({ends[rank] for rank in own}, key=natural))
        shape = "node" if len(nodes) == 1 else part.shape
        sends, receives = part.lower >= SMALLEST, part.lower_back >= SMALLEST
        way = "sends" if sends else "receives"
        if sends == receives or math.isnan(part.lower + part.lower_back):
            way = ""
        slow = [link for link in links if _is_of(link, part.shape, own, sends, receives)]
        if shape == "link":
            slow = [min(slow, key=lambda link: link.best)]
        yield SlowLinks(shape, nodes, own, kind, slow, way, part.chance)


def _is_of(link: Link, shape: str, own: tuple[int, ...], sends: bool, receives: bool) -> bool:
    if shape == "link":
        there, back = link.ranks == own, link.ranks == own[::-1]
    else:
        first, second = link.sender in own, link.receiver in own
        if first and second:
            return shape == "within"
        there, back = first and shape != "within", second and shape != "within"
    return (there and sends) or (back and receives)


def _together(same: Sequence[SlowLinks]) -> SlowLinks:
    """What is slow in several parts of the ranks; a node if more than half of its ranks are."""
    first = same[0]
    ranks = tuple(sorted({rank for slow in same for rank in slow.ranks}))
    shape = first.shape
    if shape == "node":
        ends = {rank: node for link in first.kind.links for rank, node in link.ends}
        of_node = [rank for rank, node in ends.items() if node == first.nodes[0]]
        shape = "node" if 2 * len(ranks) > len(of_node) else "card"
    links = [link for slow in same for link in slow.links]
    ways = {slow.way for slow in same}
    way = first.way if len(ways) == 1 else ""
    chance = min(slow.chance for slow in same if slow.chance is not None)
    return SlowLinks(shape, first.nodes, ranks, first.kind, links, way, chance)
