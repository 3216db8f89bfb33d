"""Findings about links between ranks: of a pair, of a node, of a group of nodes, of all at once."""

from msgspec.structs import asdict, replace

from ...hostlist import shown_nodes
from ...results.node_state import NODE_ORDER
from ..links import SlowLinks, kinds_of, shared_rates, slow_links
from ..model import Row
from ..ring_order import LEAST_GAIN, ring_order
from ..statistics.values import median
from .finder import Finds, Found, finding

BLOCKS = 0.1  # less than alone, in sum and in most pairs
SPEED = "{gb_s:.4g} GB/s ({ways}), {lower:.0%} less than the median ({median_gb_s:.4g})"
SHARED = (
    "it is not slow alone, so look at what shares its way: the routes of flows (ECMP, adaptive "
    "routing), and the load of other jobs"
)
GROUPS = {
    "across": "the links between {place} and the other nodes are slow[ where {place} {way}], those "
    "within both sides are not: ",
    "within": "the links among {place} are slow, those to the other nodes are not: ",
}


def _found(row: Row, slow: SlowLinks, place: str, sentence: str = "") -> Found:
    where, ways, _ = slow.kind.name
    evidence = {
        "gb_s": slow.gb_s,
        "median_gb_s": slow.others,
        "links": len(slow.links),
        "nodes": list(slow.nodes),
        "ranks": list(slow.ranks),
    }
    words = {"where": where, "ways": ways, "lower": 1 - slow.gb_s / slow.others, "way": slow.way}
    has_nodes = any(process.record.node for process in row.processes)
    nodes = slow.nodes if has_nodes else ("",)  # programs tell the name of a single host, too
    return Found(place, evidence, words, nodes=nodes, sentence=sentence)


@finding(
    "warning",
    "ranks {place} exchange {gb_s:.4g} GB/s ({ways}), {lower:.0%} less than the median of the "
    "pairs {where} ({median_gb_s:.4g})[; alone {alone_gb_s:.4g}]",
    "look at its cable, its switch and `nvidia-smi nvlink`",
    section="more",
    is_traced=True,
    looks_for="slow links",
    among=lambda row: sum(len(kind.links) for kind in kinds_of(row)),
    action="watch",
)
def slow_link(row: Row) -> Finds:
    """Pairs of ranks that are slower than others; not those of a slow node or group of nodes."""
    alone = {
        (link.ranks, link.ways): link.gb_s
        for kind in kinds_of(row)
        for link in kind.links
        if kind.name[2] in ("alone", "suspect")
    }
    for slow in slow_links(row):
        if slow.shape != "link":
            continue
        first = slow.links[0]
        found = _found(row, slow, first.label)
        own = alone.get((first.ranks, first.ways)) if first.schedule == "rounds" else None
        if own is not None:
            is_shared = own > (slow.gb_s + slow.others) / 2
            evidence = {**found.evidence, "alone_gb_s": own}
            found = replace(found, evidence=evidence, advice=SHARED if is_shared else "")
        yield found


@finding(
    "warning",
    "{place}: all its {links} links between nodes are slow[ where it {way}]: " + SPEED,
    "look at its network card, its cable, and its port of the switch",
    section="more",
    is_traced=True,
    looks_for="slow links",
    fails=True,
    action="isolate",
)
def slow_node_links(row: Row) -> Finds:
    """Nodes, or network cards of some of their ranks, whose links to most other nodes are slow."""
    for slow in slow_links(row):
        if slow.shape == "node":
            yield _found(row, slow, slow.nodes[0])
        if slow.shape == "card":
            ranks = "rank" if len(slow.ranks) == 1 else "ranks"
            yield _found(row, slow, f"{ranks} {', '.join(map(str, slow.ranks))} ({slow.nodes[0]})")


@finding(
    "warning",
    GROUPS["across"] + SPEED,
    "look at the switch that they share and its uplinks, before the nodes themselves",
    section="more",
    is_traced=True,
    looks_for="slow links",
    action="watch",
)
def slow_switch(row: Row) -> Finds:
    """Groups of nodes whose links to the others, or among themselves, are slow."""
    for slow in slow_links(row):
        if slow.shape in GROUPS:
            yield _found(row, slow, shown_nodes(slow.nodes), GROUPS[slow.shape] + SPEED)


def _pairs_at_once(row: Row) -> int:
    """Pairs that were measured at the same time, and alone; 0 if only one was at a time."""
    found = shared_rates(row)
    nodes = {node for link, _ in found for node in link.nodes}
    return len(found) if len(nodes) > 3 else 0


@finding(
    "warning",
    "the network blocks: {pairs} pairs between nodes exchange {together_gb_s:.4g} GB/s together, "
    "{share:.0%} of what they exchange alone ({alone_gb_s:.4g})",
    "look at the oversubscription of the switches, and at how the routes of flows are chosen",
    section="more",
    is_traced=True,
    looks_for="a blocking network",
    among=_pairs_at_once,
)
def blocking_fabric(row: Row) -> Finds:
    """Whether pairs of all nodes are slower at the same time than alone."""
    if not _pairs_at_once(row):
        return
    found = shared_rates(row)
    together = sum(link.gb_s for link, _ in found)
    alone = sum(own.gb_s for _, own in found)
    of_most = median(link.gb_s / own.gb_s for link, own in found)
    if max(together / alone, of_most) < 1 - BLOCKS:
        evidence = {
            "share": together / alone,
            # of both directions, which follow each other
            "together_gb_s": together / 2,
            "alone_gb_s": alone / 2,
            "pairs": len(found) // 2,
        }
        yield Found(evidence=evidence)


@finding(
    "warning",
    "slow links in a ring of the nodes: {now_slow} in their order, the slowest of {now_gb_s:.4g} "
    "GB/s; {slow} in that of {file}, of {gb_s:.4g}"
    "[: a ring all-reduce is predicted to be {gain:.0%} faster]",
    f"start jobs with `SLURM_HOSTFILE={NODE_ORDER}` and `--distribution=arbitrary`, or list hosts "
    "in this order",
    section="more",
)
def slow_ring(row: Row) -> Finds:
    """Whether the order of the nodes of a validation puts slow links into rings without need."""
    found = ring_order(row) if row.validates else None
    if found is not None:
        gain = {"gain": found.gain} if found.gain >= LEAST_GAIN else {}
        yield Found("", asdict(found) | gain, {"file": NODE_ORDER})
