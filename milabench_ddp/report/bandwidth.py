"""Bandwidth of memory, of the way between host and device, and of the links between devices.

Programs tell a row for each path (``bandwidth``) and for each pair of ranks (``pair``).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..results.records import Payload, is_finite
from ..table import Column, Table, without_unknown
from .model import Finding, Findings, Row, Rows
from .program_tables import size_text
from .statistics import NAN, mean, median

SLOW = 0.2  # below the median of the pairs of its kind, in its best observation, too


def bandwidths(rows: Rows) -> Table:
    """A row for each path that a benchmark measured, as the mean over devices.

    The share is that of the data sheet: of the memory's clock and width, or of the device's PCIe
    link.
    """
    columns = (
        Column("bench"),
        Column("path"),
        Column("bytes"),
        Column("GB/s", ".4g"),
        Column("lowest", ".4g"),
        Column("data sheet", ".4g"),
        Column("share", ".1%"),
    )
    values = []
    for row in rows:
        paths: dict[tuple[str, int], list[Payload]] = defaultdict(list)
        for payload in row.tables.get("bandwidth", ()):
            if is_finite(payload.get("gb_s")) and type(payload.get("bytes")) is int:
                paths[str(payload.get("path", "")), payload["bytes"]].append(payload)
        for (path, size), found in paths.items():
            speeds = [payload["gb_s"] for payload in found]
            lowest = min(speeds) if len(speeds) > 1 else NAN
            speed, promised = mean(speeds), mean(each.get("data_sheet_gb_s") for each in found)
            shown = (row.name, path, size_text(size), speed, lowest, promised, speed / promised)
            values.append(shown)
    table = Table(columns, tuple(values), "Memory and transfers")
    return without_unknown(table, always=4)


@dataclass(frozen=True)
class Link:
    """A pair of ranks, one way or both ways at once; medians over launches."""

    sender: int
    receiver: int
    ways: int
    nodes: tuple[str, str]
    gb_s: float
    best_gb_s: float  # of the fastest observation

    @property
    def kind(self) -> tuple[str, str]:
        """Links of the same kind should be equally fast."""
        where = "within a node" if self.nodes[0] == self.nodes[1] else "between nodes"
        return where, "one way" if self.ways == 1 else "both ways"

    @property
    def label(self) -> str:
        """The ranks, with the direction."""
        return f"{self.sender} {'->' if self.ways == 1 else '<->'} {self.receiver}"


@dataclass(frozen=True)
class LinkKind:
    """All links of a kind."""

    name: tuple[str, str]
    links: Sequence[Link]

    @property
    def typical(self) -> float:
        """The median of their bandwidths, in GB/s."""
        return median(link.gb_s for link in self.links)

    @property
    def slowest(self) -> Link:
        """The link with the lowest bandwidth."""
        return min(self.links, key=lambda link: link.gb_s)

    @property
    def slow(self) -> list[Link]:
        """Links that are much slower than is typical, also in their best observation."""
        bound = (1 - SLOW) * self.typical
        return [link for link in self.links if max(link.gb_s, link.best_gb_s) < bound]


def links(rows: Rows) -> Table:
    """A row for each benchmark that measured pairs of ranks, and each kind of link."""
    columns = (
        Column("bench"),
        Column("where"),
        Column("ways"),
        Column("pairs", "d"),
        Column("GB/s", ".4g"),
        Column("slowest"),
        Column("GB/s", ".4g"),
    )
    values = []
    for row in rows:
        for kind in _kinds(row):
            worst = kind.slowest
            shown = (*kind.name, len(kind.links), kind.typical, worst.label, worst.gb_s)
            values.append((row.name, *shown))
    return Table(columns, tuple(values), "Links between devices")


def pairs(rows: Rows) -> Table:
    """A row for each pair of ranks."""
    columns = (
        Column("bench"),
        Column("from", "d"),
        Column("to", "d"),
        Column("ways", "d"),
        Column("from_node"),
        Column("to_node"),
        Column("gb_s", ".4g"),
        Column("best_gb_s", ".4g"),
    )
    values = []
    for row in rows:
        for link in _links(row):
            ends = (link.sender, link.receiver, link.ways, *link.nodes)
            values.append((row.name, *ends, link.gb_s, link.best_gb_s))
    return Table(columns, tuple(values), "Pairs of ranks")


def slow_links(row: Row) -> Findings:
    """Links that are much slower than most of their kind."""
    for kind in _kinds(row):
        for link in kind.slow:
            where, ways = kind.name
            lower = 1 - link.gb_s / kind.typical
            sentence = (
                f"ranks {link.label} exchange {link.gb_s:.4g} GB/s ({ways}), {lower:.0%} less than "
                f"the median of the pairs {where} ({kind.typical:.4g})"
            )
            evidence = {"gb_s": link.gb_s, "median_gb_s": kind.typical, "nodes": list(link.nodes)}
            yield Finding(sentence, place=link.label, evidence=evidence)


def _kinds(row: Row) -> Iterator[LinkKind]:
    kinds: dict[tuple[str, str], list[Link]] = defaultdict(list)
    for link in _links(row):
        kinds[link.kind].append(link)
    for name, found in kinds.items():
        yield LinkKind(name, found)


def _links(row: Row) -> Iterator[Link]:
    """The links of a benchmark, over its launches."""
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
