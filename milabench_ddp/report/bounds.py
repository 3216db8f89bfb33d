"""What the links of a machine allow: upper bounds of the bandwidths that were measured.

They follow from the number and the rate of the links, and from what an algorithm must move:

PCIe
    lanes x transfers per second x payload bits over bits on the wire: 8b/10b up to generation 2,
    128b/130b up to 5, flits of 242 of 256 bytes from 6 on (PCI Express Base Specification 6.0).
NVLink, pairs and collectives within a node
    the rate of all links of a GPU, one way. With nccl-tests' factors (doc/PERFORMANCE.md there) no
    bus bandwidth exceeds it, but that of an all-reduce that the switch adds up (NVLS): a GPU of n
    then sends its data and 1/n of the sums, and receives as much, so that bytes / time is at most
    n/(n+1) of the links, and the bus bandwidth 2(n-1)/(n+1).
Network, collectives between N nodes of n ranks
    a ring crosses each node's cards once each way, so its bus bandwidth is at most their rate. Any
    other way first adds up within a node: it sends 2(N-1)/N of the data to all-reduce, (N-1)/N to
    gather or scatter, which allows N/(N-1) (n-1)/n of that rate. A switch that adds up (SHARP) lets
    a node send its data once: 2(n-1)/n. All-to-all shares the cards between the ranks of a node.

A measured bandwidth is the one that its fit approaches, or that of the largest size, if that is
more: small messages are slow for other reasons.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ..grouping import grouped
from ..results.records import Payload, Record, is_finite, mapping_or_empty
from .collectives import Operation, operations_of
from .links import WITHIN, kinds_of
from .model import Row
from .statistics.values import NAN
from .summary import tables_of
from .suspects import nodes_of_job, settings_of

PCIE_LANE = {1: 0.25, 2: 0.5, 3: 8 * 128 / 130 / 8, 4: 16 * 128 / 130 / 8, 5: 32 * 128 / 130 / 8,
             6: 64 * 242 / 256 / 8}  # GB/s by generation  # fmt: skip
IN_NETWORK = ("CollNetDirect", "CollNetChain", "NVLS")  # they add up in the network's switches
# Healthy machines reach 0.60 to 0.91 (docs/validate_settings.rst), halves of links less.
USUAL = 0.5


class Limit(Struct, frozen=True, order=True):
    """The most that some links allow; ordered by it."""

    gb_s: float
    links: str  # in words

    def of(self, factor: float, words: str = "") -> "Limit":
        """That of what uses the links so often."""
        return Limit(factor * self.gb_s, words + self.links)


class Bounded(Struct, frozen=True):
    """A measured bandwidth, and the most that the links allow."""

    what: str
    place: str  # a device or a pair
    nodes: tuple[str, ...]
    gb_s: float
    limit: Limit

    @property
    def share(self) -> float:
        return self.gb_s / self.limit.gb_s

    @property
    def is_low(self) -> bool:
        return self.share < USUAL


def bounds_of(row: Row) -> Iterator[Bounded]:
    """The bandwidths whose links are known: of each kind and node, that with the smallest share."""
    found = (*_transfers(row), *_pairs(row), *_collectives(row))
    alike = grouped(((each.what, each.nodes), each) for each in found if math.isfinite(each.share))
    for those in alike.values():
        yield min(those, key=lambda each: each.share)


def _transfers(row: Row) -> Iterator[Bounded]:
    for record in (process.record for process in row.counted):
        is_alone = record.device is not None
        used = [record.gpu(record.device)] if is_alone else record.gpus.values()
        limit = max(filter(None, map(_pcie, used)), default=None)
        place = f"GPU {record.device}" if is_alone else ""
        for payload in record.tables.get("bandwidth", ()) if limit else ():
            path, gb_s = str(payload.get("path", "")), payload.get("gb_s")
            if limit and path.endswith(" pinned") and is_finite(gb_s):
                most = limit.of(2 if path.startswith("both") else 1)
                yield Bounded(path, place, (record.node,), gb_s, most)


def _pcie(gpu: Payload) -> Limit | None:
    pcie = mapping_or_empty(gpu.get("pcie"))
    generation, width = pcie.get("generation"), pcie.get("width")
    if type(generation) is int and type(width) is int and generation in PCIE_LANE:
        return Limit(PCIE_LANE[generation] * width, f"PCIe {generation} x{width}")
    return None


def _nvlinks(records: Sequence[Record], *, of_pairs: bool) -> Limit | None:
    """All links of the GPU with most; a pair has them to itself if a switch joins them."""
    found = []
    for record in records:
        for gpu in record.gpus.values():
            told = mapping_or_empty(gpu.get("nvlink"))
            links, each = told.get("links"), told.get("gb_s")
            if type(links) is int and is_finite(each):
                if of_pairs and not told.get("switched"):
                    return None
                found.append(Limit(links * each, f"{links} NVLinks of {each:g} GB/s"))
    return max(found, default=None)


def _pairs(row: Row) -> Iterator[Bounded]:
    """The pairs within a node, each way by itself."""
    limit = _nvlinks([process.record for process in row.counted], of_pairs=True)
    if limit is None:
        return
    for kind in (each for each in kinds_of(row) if each.name[0] == WITHIN):
        for link in kind.links:
            nodes = link.nodes[:1] if row.nodes > 1 else ("",)
            what = f"a pair, {kind.name[1]}"
            yield Bounded(what, link.label, nodes, link.gb_s, limit.of(link.ways))


def _collectives(row: Row) -> Iterator[Bounded]:
    """Of the job on all nodes, or of that of each node."""
    nodes = nodes_of_job(row)
    by_node = grouped((each.record.node if nodes == 1 else "", each) for each in row.counted)
    for processes in by_node.values():
        those = [process.record for process in processes]
        where = tuple(dict.fromkeys(record.node for record in those))
        own = replace(row, tables=tables_of(those), processes=tuple(processes))
        for operation in operations_of(own):
            if limit := _of_collective(row, operation, those, nodes):
                what = f"{operation.key[0]} of {operation.key[-1]} ranks"
                yield Bounded(what, "", where, _reached(operation), limit)


def _reached(operation: Operation) -> float:
    factor = operation.bus / operation.value(operation.sizes[-1], "algorithm_gb_s")
    return max(operation.bus, operation.fit("beta_gb_s") * factor)  # if the fit is known


def _of_collective(
    row: Row, operation: Operation, records: Sequence[Record], nodes: int
) -> Limit | None:
    """None where a link or the algorithm is not known."""
    op, backend, *_ = operation.key
    algorithm = operation.chosen("algorithm")
    payload = operation.by_size[operation.sizes[-1]][0]
    n = payload.get("ranks")
    if backend != "nccl" or type(n) is not int or (op == "all_reduce" and not algorithm):
        return None
    if payload.get("among", "all") != "all":  # parts that communicate at the same time
        return None
    own = n // nodes
    words = f"{algorithm} over " if algorithm else ""
    limits: list[Limit] = []
    if own > 1:
        inside = _nvlinks(records, of_pairs=False)
        if inside is None:
            return None
        is_added = op == "all_reduce" and algorithm.startswith("NVLS")
        factor = max(1.0, 2 * (own - 1) / (own + 1)) if is_added else 1.0
        limits.append(inside.of(factor, words))
    if nodes > 1:
        cards, factor = _cards(row), _across(op, algorithm, n, nodes)
        if cards is None or math.isnan(factor):
            return None
        limits.append(cards.of(factor, words))
    return min(limits, default=None)


def _across(op: str, algorithm: str, ranks: int, nodes: int) -> float:
    """The most bus bandwidth that the cards of a node allow, of their rate; NaN if not known."""
    least = nodes / (nodes - 1) * (ranks - 1) / ranks
    if op == "all_to_all":
        return least * nodes / ranks
    if op == "p2p":  # it is not known which cards a pair uses
        return NAN
    if op == "broadcast" or algorithm == "Ring":
        return 1.0
    return 2 * (ranks - 1) / ranks if algorithm in IN_NETWORK and op == "all_reduce" else least


def _cards(row: Row) -> Limit | None:
    """The network cards of a node: of that which has most, as all should."""
    found = []
    for settings in chain.from_iterable(settings_of(run).values() for run in row.runs):
        name, factor = ("nic_rate", 1.0) if "nic_rate" in settings else ("net_speed", 1e-3)
        values = settings.get(name, ())
        with suppress(ValueError):
            if total := sum(each.count * float(each.value) * factor for each in values):
                words = f"{values[0].count} ports of {float(values[0].value) * factor:g} Gb/s"
                found.append(Limit(total / 8, words))
    return max(found, default=None)
