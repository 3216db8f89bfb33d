"""Links between devices: a pair of ranks each, by kind."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..results.records import Payload, is_finite
from .grouping import grouped
from .model import Row
from .once import once
from .statistics.values import median

SLOW = 0.2  # below the median of the pairs of its kind, in its best observation, too


class Link(Struct, frozen=True):
    """A pair of ranks, one way or both ways at once; medians over launches."""

    sender: int
    receiver: int
    ways: int
    nodes: tuple[str, str]
    gb_s: float
    best_gb_s: float  # of the fastest observation

    @property
    def kind(self) -> tuple[str, str]:
        where = "within a node" if self.nodes[0] == self.nodes[1] else "between nodes"
        return where, "one way" if self.ways == 1 else "both ways"

    @property
    def label(self) -> str:
        return f"{self.sender} {'->' if self.ways == 1 else '<->'} {self.receiver}"


class LinkKind(Struct, frozen=True):
    """All links of a kind."""

    name: tuple[str, str]
    links: Sequence[Link]

    @property
    def typical(self) -> float:
        return median(link.gb_s for link in self.links)

    @property
    def slowest(self) -> Link:
        return min(self.links, key=lambda link: link.gb_s)

    @property
    def slow(self) -> list[Link]:
        bound = (1 - SLOW) * self.typical
        return [link for link in self.links if max(link.gb_s, link.best_gb_s) < bound]


@once
def kinds_of(row: Row) -> list[LinkKind]:
    kinds = grouped((link.kind, link) for link in links_of(row))
    return [LinkKind(name, found) for name, found in kinds.items()]


def links_of(row: Row) -> Iterator[Link]:
    told: dict[tuple[int, int, int], list[Payload]] = defaultdict(list)
    for payload in row.tables.get("pair", ()):
        if not is_finite(payload.get("gb_s")):
            continue
        match payload:
            case {"from": int() as sender, "to": int() as receiver, "ways": int() as ways}:
                told[sender, receiver, ways].append(payload)
    for (sender, receiver, ways), payloads in told.items():
        nodes = payloads[0].get("nodes")
        first, second = nodes if isinstance(nodes, list) and len(nodes) == 2 else ("", "")
        yield Link(
            sender,
            receiver,
            ways,
            (str(first), str(second)),
            median(payload["gb_s"] for payload in payloads),
            median(payload.get("best_gb_s") for payload in payloads),
        )
